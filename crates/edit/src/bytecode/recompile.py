"""Compares bytecode files with what this interpreter makes of their sources. Runs no code of them.

Reads pairs of paths, NUL between, from standard input: a bytecode file, then its source. Prints one line of JSON each: `true` where they are the
same, `false` where they are not, a text where it cannot be told.
"""
import importlib.util
import json
import marshal
import re
import sys


def judge(cached, source):
    with open(cached, "rb") as file:
        held = file.read()
    if held[:4] != importlib.util.MAGIC_NUMBER:
        return "it is of another interpreter"
    with open(source, "rb") as file:
        text = file.read()
    level = re.search(rb"\.opt-(\d)\.pyc$", cached.encode("utf-8", "surrogateescape"))
    code = marshal.loads(held[16:])
    made = compile(text, code.co_filename, "exec", dont_inherit=True, optimize=int(level.group(1)) if level else 0)
    return code == made


def main():
    paths = sys.stdin.buffer.read().split(b"\0")
    for cached, source in zip(paths[0::2], paths[1::2]):
        try:
            answer = judge(cached.decode("utf-8", "surrogateescape"), source.decode("utf-8", "surrogateescape"))
        except Exception as error:
            answer = "%s: %s" % (type(error).__name__, error)
        print(json.dumps(answer), flush=True)


main()
