"""A program that two flags break in two ways, told apart by a number alone."""

import sys

status = 401 if sys.argv[1] == "--off" else 503
raise RuntimeError(f"upstream answered with status {status} after {id(sys) % 1000} ms")
