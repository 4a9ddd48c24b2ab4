"""A program whose log is full of bad words, and that does its work."""

import sys

print("ERROR 08-28 [registry.py:12] optional kernels are missing: falling back", file=sys.stderr)
print("Exception ignored in: <function Pool.__del__ at 0x7f>", file=sys.stderr)
print("FATAL is what this level is called; nothing is fatal here", file=sys.stderr)
try:
    raise KeyError("a cache miss")
except KeyError:
    import traceback

    traceback.print_exc()
print("done")
