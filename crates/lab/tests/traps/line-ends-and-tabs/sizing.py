"""Sizes of a pool: CRLF, tabs, a byte order mark, and no line end at the end."""

import pathlib

from mixed import share


def bare(name):
	lines = pathlib.Path(__file__).with_name(name).read_bytes().split(b"\n")[:-1]
	return sum(not line.endswith(b"\r") for line in lines)


def size(total):
	rest = total - share()
	return rest


print("bare", bare("sizing.py"), "in mixed", bare("mixed.py"), "rest", size(94))