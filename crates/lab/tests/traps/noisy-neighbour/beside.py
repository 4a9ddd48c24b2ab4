"""A neighbour that has the device in some launches and not in others, for reasons of its own."""

import itertools
import pathlib
import time

BUSY = [True, False, False, True, True, False, True, False, True, False, False, False, True, False, True, True, False, True, False, True]

pathlib.Path("up").touch()
for number in itertools.count(1):
    while not pathlib.Path(f"asks-{number}").exists():
        time.sleep(0.002)
    answer = pathlib.Path(f"answer-{number}.new")
    answer.write_text("busy" if BUSY[number % len(BUSY)] else "free")
    answer.rename(f"answer-{number}")
