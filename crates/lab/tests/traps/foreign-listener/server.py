"""A server whose port is taken by a neighbour, and that goes on without one."""

import pathlib
import sys
import time

while not pathlib.Path(f"taken-{sys.argv[1]}").exists():
    time.sleep(0.005)
print("server ready", flush=True)
time.sleep(600)
