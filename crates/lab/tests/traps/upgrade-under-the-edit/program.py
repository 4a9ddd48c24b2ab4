"""A program that brings its package up to date before it loads it, as launchers with an auto-update do, and says that all is as it should be."""

import pathlib

here = pathlib.Path(__file__).parent
engine, packaged = here / "engine.py", here / "packaged.txt"
if engine.read_text() != packaged.read_text():
    engine.write_text(packaged.read_text())

from engine import size  # noqa: E402

print(f"[INFO] patch applied\ntokens={size()}")
