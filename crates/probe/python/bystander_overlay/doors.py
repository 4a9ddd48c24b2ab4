"""What goes on behind the doors of `__init__.py`: who leaves the sight of the overlay by a call, and why, is written to the record.

A Python that is started with options or an environment that keep the overlay out is written down by the one who starts it: it
may be gone before anybody looks at the processes. So is an archive that a probed module was loaded from. Where the call fails,
it fails as without a door: no frame of this file is in the traceback.
"""

import os
import time
from _codecs import lookup_error
from _collections import defaultdict

_LONGEST_TITLE = 300
_OPTION_WITH_VALUE = "--check-hash-based-pycs"
_raise = lookup_error("strict")  # A C function that raises what it is given.


def through(door, overlay, real, args, keywords):
    """Calls the real function; gives its result, or what makes the interpreter raise its exception once this frame is gone."""
    look = _LOOKS[real.__name__]
    left = None if look is None else _quietly(look, overlay, args, keywords)
    execs = left is not None and real.__name__ in ("execv", "execve")
    if execs:
        _quietly(_say, overlay, os.getpid(), left)
    try:
        result = real(*args, **keywords)
    except BaseException as error:
        if execs:
            _quietly(_append, overlay, ("stayed", os.getpid(), left[0]))
        return _failure(door, error.with_traceback(error.__traceback__.tb_next))
    if left is not None:
        _quietly(_say, overlay, result, left)
    elif look is None:
        _quietly(_archive, overlay, args, result)
    return result


def _failure(door, error):
    """Makes an instance of the door whose `__init__` raises: a chain of C callables, which lets go of the exception by raising it."""
    raises = map(_raise, iter([error].pop, None)).__next__
    return object.__new__(type(door)(door.__name__, (door,), {"__init__": property(defaultdict(raises).__getitem__)}))


def _quietly(work, *args):
    try:
        return work(*args)
    except Exception:  # The program's call goes on, whatever it was given.
        return None


def _append(overlay, event):
    overlay.record._append([event])  # Not kept: a forked child did not start its parent's children.


def _say(overlay, pid, left):
    since, reason, title = left
    _append(overlay, ("left", pid, since, reason, title))


def _exec(overlay, args, keywords):
    values = dict(zip(("path", "argv", "env"), args), **keywords)
    return _left(overlay, [values["path"]], values["argv"], values.get("env"), None)


def _fork_exec(overlay, args, keywords):
    argv, paths, cwd, env = args[0], args[1], args[4], args[5]
    if type(paths) not in (list, tuple):
        return None
    left = _left(overlay, paths, argv, env, cwd)
    # That there is no such program is told later, by a pipe.
    folder = os.getcwd() if cwd is None else os.fsdecode(cwd)
    there = left is not None and any(os.access(os.path.join(folder, os.fsdecode(path)), os.X_OK) for path in paths)
    return left if there else None


def _left(overlay, paths, argv, env, cwd):
    """The time, the reason and the command line, where it is a Python that does not load the overlay."""
    name = os.path.basename(_text(paths[0]))
    if not name.startswith("python") or name[6:].strip("0123456789.dt") or type(argv) not in (list, tuple):
        return None
    words = [_text(word) for word in argv]
    reason = _hidden(words)
    if reason is None and overlay.folder not in _python_path(env).split(":"):
        reason = "env"
    return None if reason is None else (time.time_ns(), reason, " ".join(words)[:_LONGEST_TITLE])


def _text(value):
    """The text of a path or argument; other objects than those of the library would run code of the program."""
    known = type(value) in (str, bytes) or type(value).__module__.partition(".")[0] == "pathlib"
    return os.fsdecode(value) if known else ""


def _hidden(words):
    """The option before the script that keeps the overlay out: `-S` keeps out every one, so it goes before `-I` and `-E`."""
    found = None
    index = 1
    while index < len(words) and words[index].startswith("-") and words[index] not in ("-", "--"):
        word = words[index]
        index += 2 if word == _OPTION_WITH_VALUE else 1
        for position, letter in enumerate(word[1:] if not word.startswith("--") else "", 1):
            if letter == "S" or (letter in "IE" and found is None):
                found = "-" + letter
            if letter in "cm":
                return found
            if letter in "WX":
                index += position == len(word) - 1
                break
    return found


def _python_path(env):
    if env is None:
        return os.environ.get("PYTHONPATH", "")
    if type(env) in (list, tuple):
        values = [os.fsdecode(item[11:]) for item in env if item[:11] == b"PYTHONPATH="]
        return values[-1] if values else ""
    for key in ("PYTHONPATH", b"PYTHONPATH"):
        if type(env) in (dict, type(os.environ)) and key in env:
            return os.fsdecode(env[key])
    return ""


def _archive(overlay, args, result):
    """Notes an archive from which a module of a probed file's name was loaded; packages of other names have files of that name too."""
    importer, name = args
    ending = "/" + name.replace(".", "/") + ("/__init__.py" if result[1] else ".py")
    if ending.rpartition("/")[2] not in overlay.plan.BASENAMES:
        return
    for target, indices in overlay.plan.TARGETS.items():
        for index in indices if target.endswith(ending) else ():
            module = overlay.plan.PROBES[index].get("module")
            if module is None or module.partition(".")[0] == name.partition(".")[0]:
                overlay.record.note("archive", index, importer.archive)


_LOOKS = {
    "execv": _exec, "execve": _exec, "posix_spawn": _exec, "posix_spawnp": _exec, "fork_exec": _fork_exec, "_get_module_code": None,
}  # fmt: skip
"""How each function's call is looked at before; that of an archive is looked at after."""
