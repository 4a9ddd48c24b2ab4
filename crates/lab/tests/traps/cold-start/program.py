"""A program whose engine does not answer in time while its cache is cold, which the first two launches find it to be; with a flag it never answers."""

import pathlib
import sys

counter = pathlib.Path(__file__).with_name("launches")
launches = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(launches + 1))
if launches < 2 or "--on" in sys.argv:
    raise RuntimeError("the engine core did not answer in time")
