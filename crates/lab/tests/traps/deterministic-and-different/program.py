"""A program whose number is exact, and off by one with the flag."""

import sys

print(f"blocks={1478 + ('--on' in sys.argv)}")
