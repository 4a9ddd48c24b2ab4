"""A benchmark that shares its device with a neighbour."""

import pathlib
import sys
import time

number = sys.argv[1]
pathlib.Path(f"asks-{number}").touch()
answer = pathlib.Path(f"answer-{number}")
while not answer.exists():
    time.sleep(0.002)
print(f"took {1426 if answer.read_text() == 'busy' else 1000 + int(number) % 3} ms")
