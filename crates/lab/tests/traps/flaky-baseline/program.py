"""A program that fails about every second time, whatever its flags are."""

import pathlib

OUTCOMES = "RFFRFRRFRFFRRFRF"

counter = pathlib.Path(__file__).with_name("launches")
launches = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(launches + 1))
if OUTCOMES[launches % len(OUTCOMES)] == "F":
    raise ConnectionError("the peer did not answer")
