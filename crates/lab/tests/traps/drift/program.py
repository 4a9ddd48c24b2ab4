"""A program on a machine that gets slower from launch to launch, as one that heats up."""

import pathlib

counter = pathlib.Path(__file__).with_name("launches")
launches = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(launches + 1))
print(f"took {100 + 4 * launches + launches * 7919 % 3} ms")
