"""A program with two copies of its engine beside it."""

from engine.sizing import size

print(f"tokens={size()}")
