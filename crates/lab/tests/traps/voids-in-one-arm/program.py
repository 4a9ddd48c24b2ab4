"""A program that applies its treatment every third time, and then only."""

import pathlib
import sys

if "--fast" in sys.argv:
    counter = pathlib.Path(__file__).with_name("launches")
    launches = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(launches + 1))
    if launches % 3 == 2:
        print("fast path enabled")
print("took 10 ms")
