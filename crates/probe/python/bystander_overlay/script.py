"""`python script.py` with a probed script: the interpreter itself runs the rewritten code, with no frame of ours below it.

The interpreter hands a script to `runpy._run_module_as_main` when the script's path has a path entry finder. A stand-in for
that one function is a chain of C callables that ends in a function made of the script's code, so stack and tracebacks begin
at `<module>` as always. Whatever is unusual (`-x`, a script that does not compile) is left to the interpreter.
"""

import os
import sys
from _collections import defaultdict
from _functools import partial
from types import FunctionType, ModuleType

import _frozen_importlib_external as _external

import bystander_overlay

_OPTIONS_WITH_VALUE = ("--check-hash-based-pycs",)


def script_argument(argv):
    """Returns the script of a command line, or None: `-c`, `-m`, standard input, `-x`."""
    index = 1
    while index < len(argv):
        item = argv[index]
        index += 1
        if item == "--":
            return argv[index] if index < len(argv) else None
        if not item.startswith("-"):
            return item
        if item == "-":
            return None
        if item.startswith("--"):
            index += item in _OPTIONS_WITH_VALUE
            continue
        for position, letter in enumerate(item[1:], 1):
            if letter in "cmx":
                return None
            if letter in "WX":
                index += position == len(item) - 1
                break
    return None


def take_over(overlay, argv):
    """Prepares the rewritten script, if the script is a target and can be rewritten."""
    script = script_argument(argv)
    if script is None or not overlay.is_target(os.path.abspath(script)) or "runpy" in sys.modules:
        return
    folder = os.getcwd()
    names = {script, os.path.abspath(script), os.path.join(folder, script)}
    if script.startswith("./"):
        names.add(os.path.join(folder, script[2:]))
    name = script if sys.version_info < (3, 9) else os.path.abspath(script)
    code = overlay.rewrite().script(script, name)
    if code is None:
        return
    stand_in = _Runpy("runpy")
    stand_in.__dict__["_bystander"] = _Script(code, names)
    for key in names:
        sys.path_importer_cache[key] = stand_in
    sys.modules["runpy"] = stand_in


class _Script:
    """A script that waits for the interpreter to ask for it."""

    def __init__(self, code, names):
        self.code = code
        self.names = names

    def release(self):
        """Puts the interpreter's state in the order of a script's start; returns the callable that runs the script."""
        sys.modules.pop("runpy", None)
        for key in self.names:
            sys.path_importer_cache.pop(key, None)
        name = sys.path[0]
        if getattr(sys.flags, "safe_path", False):
            del sys.path[0]
        else:
            sys.path[0] = os.path.dirname(os.path.realpath(name))
        names = sys.modules["__main__"].__dict__
        names.setdefault("__file__", name)
        names.setdefault("__cached__", None)
        names["__loader__"] = _external.SourceFileLoader("__main__", name)
        code = self.code if self.code.co_filename == name else bystander_overlay._renamed(self.code, name)
        run = defaultdict(FunctionType(code, names))
        leave = defaultdict(partial(_leave, names))
        # `str.format` takes any arguments, looks up a key, and a defaultdict's missing key calls its factory: all of it in C.
        return partial("{run[script]}{leave[script]}".format, run=run, leave=leave)


def _leave(names):
    """Does what the interpreter does after a script: its file name is gone when exit handlers run."""
    names.pop("__file__", None)
    names.pop("__cached__", None)


class _Runpy(ModuleType):
    """Stands in for `runpy` until the interpreter asks for the script; hands everything else to the real module."""

    @property
    def _run_module_as_main(self):
        return self.__dict__["_bystander"].release()

    def __getattr__(self, name):
        if name.startswith("__") or "_bystander" not in self.__dict__:
            raise AttributeError(name)
        real = self.__dict__.get("_real")
        if real is None:
            del sys.modules["runpy"]
            try:
                import runpy as real
            finally:
                sys.modules["runpy"] = self
            self.__dict__["_real"] = real
        return getattr(real, name)
