"""A colleague's server: the same program, from the same folder, on a port of its own."""

import os
import pathlib
import sys

pathlib.Path("up").touch()
os.execv(sys.executable, [sys.executable, "server.py", sys.argv[1]])
