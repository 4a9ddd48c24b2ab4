"""Tests of the engine: `python3 -m unittest discover -t . -s tests`, one folder up."""
