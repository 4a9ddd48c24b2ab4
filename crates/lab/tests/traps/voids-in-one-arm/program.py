"""A program that applies its treatment every other time."""

import pathlib
import sys

counter = pathlib.Path(__file__).with_name("launches")
launches = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(launches + 1))
if "--fast" in sys.argv and launches % 2:
    print("fast path enabled")
print("took 10 ms")
