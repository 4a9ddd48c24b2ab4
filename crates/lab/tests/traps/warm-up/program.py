"""A program that compiles something at its first start on a machine, and finds it at the others."""

import pathlib

cache = pathlib.Path(__file__).with_name("compiled")
took = 10.0 if cache.exists() else 95.0
cache.touch()
print(f"start took {took} ms")
