"""The part of the overlay that every process pays for: it writes the process's record and waits for a probed file.

Everything dear (reading the plan in full, parsing, the ring) is loaded when the first probed file is. Nothing here imports a
module that the interpreter has not loaded by itself. What does not belong here: anything that knows what a probe captures.
"""

import marshal
import os
import sys
import time

import _frozen_importlib_external as _external
import builtins

_real_compile = builtins.compile
_real_get_code = _external.SourceLoader.get_code
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
_PARTS = (
    "tree", "scope", "words", "secret", "reading", "statement", "ends", "tails", "pattern", "compiled", "place", "trouble", "encode", "capture",
    "captured", "program", "ring", "native", "gate", "hook", "staging", "inject", "rewrite",
)  # fmt: skip
"""The parts that rewriting needs, each after those that it imports."""
_FUTURE_FLAGS = 0x1FE0000
_STARTERS = ("subprocess", "multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
"""The modules that load `_posixsubprocess` when they are used."""


class Record:
    """This process's file in the ring folder: what it is and what became of each probe, appended at rare moments only."""

    def __init__(self, folder):
        self.folder = folder
        self.events = []
        self.waiting = []
        self.stem = ""

    def begin(self, parent, is_forked=False):
        """Starts the file of this process; a forked child calls it again, says whose child it is, and repeats what it inherited."""
        self.waiting = [("child", self.stem.rpartition("/")[2])] if is_forked else []
        self.stem = "%s/%d.%d" % (self.folder, os.getpid(), time.time_ns())
        rank = None
        for name in _RANK_VARIABLES:
            rank = rank or os.environ.get(name)
        version = "%d.%d.%d" % sys.version_info[:3]
        start = ("start", os.getpid(), parent, time.time_ns(), version, sys.implementation.name, rank, is_forked)
        self._append([start] + self.events)

    def note(self, *event):
        """Appends an event such as `("placed", index, detail)`, unless it says nothing new."""
        if event not in self.events:
            self.events.append(event)
            self._append([event])

    def tell(self, *event):
        """Appends an event that a forked child does not repeat."""
        self._append([event])

    def _append(self, events):
        self.waiting += events  # What cannot be written is written with what comes next.
        handle = os.open(self.stem + ".proc", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, b"".join([marshal.dumps(event, 2) for event in self.waiting]))
            self.waiting = []
        finally:
            os.close(handle)


class Overlay:
    """The state of the overlay in this process."""

    def __init__(self, folder, plan):
        self.folder = folder
        self.library = folder
        self.plan = plan
        self.record = Record(plan.RING_FOLDER)
        self.rewriter = None
        self.waits_for_pytest = False

    def is_target(self, path):
        """Tells whether a probe wants this file; the cheap test on the last part of the path comes first."""
        if type(path) is not str or path.rpartition("/")[2] not in self.plan.BASENAMES:
            return False
        return path in self.plan.TARGETS or os.path.realpath(path) in self.plan.TARGETS

    def part(self, name):
        """Loads a module of the overlay on first use."""
        return load_part(self.folder, name)

    def rewrite(self):
        """Hands out the rewriter, which is loaded on first use."""
        if self.rewriter is None:
            self.rewriter = self.part("rewrite").Rewriter(self, _real_compile)
        return self.rewriter

    def forked(self):
        """Runs in a forked child."""
        begin_child(self)

    def has_forked(self):
        """Runs in the parent after a fork."""
        count_fork(self)


_overlay = None


def begin_child(state):
    """Gives a forked child a record and, where probes are in place, a ring of its own.

    One that can have no record leaves its parent's ring alone, and is silent: but its parent has counted it.
    """
    try:
        reason = None
        try:
            state.record.begin(os.getppid(), True)
        except OSError as error:
            reason = error.strerror
        if state.rewriter is not None:
            state.rewriter.forked(reason)
    except Exception:  # The program goes on.
        pass


def count_fork(state):
    """Counts a fork in the ring, or in the record where there is none: a child that leaves no account is missed by nobody else."""
    try:
        if state.rewriter is None or not state.rewriter.count_fork():
            state.record.tell("forked", 1)
    except Exception:  # The program goes on.
        pass


def load_part(folder, name):
    """Imports `bystander_overlay.<name>` under a file name that tracers skip, and whose frames no report shows."""
    for part in _PARTS if name in _PARTS else (name,):
        if "bystander_overlay." + part not in sys.modules:
            _load(folder, part)
    return sys.modules["bystander_overlay." + name]


def _load(folder, name):
    full = "bystander_overlay." + name
    loader = _external.SourceFileLoader(full, "%s/bystander_overlay/%s.py" % (folder, name))
    writes_bytecode = sys.dont_write_bytecode
    if sys.pycache_prefix:
        sys.dont_write_bytecode = True
    try:
        code = _renamed(_real_get_code(loader, full), "<bystander %s>" % name)
    finally:
        sys.dont_write_bytecode = writes_bytecode
    module = type(sys)(full)
    module.__package__ = "bystander_overlay"
    sys.modules[full] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        del sys.modules[full]
        raise
    setattr(sys.modules["bystander_overlay"], name, module)


def _renamed(code, filename):
    constants = tuple(_renamed(item, filename) if type(item) is type(code) else item for item in code.co_consts)
    return code.replace(co_filename=filename, co_consts=constants)


def _get_code(self, fullname):
    """Stands in for `SourceLoader.get_code`: a probed file is compiled from its source and touches no bytecode."""
    code = _probed_code(self, fullname)
    return _real_get_code(self, fullname) if code is None else code


def _probed_code(loader, fullname):
    overlay = _overlay
    try:
        if overlay.waits_for_pytest:
            overlay.waits_for_pytest = not overlay.part("pytest_cache").bypass(overlay)
        elif fullname == "_pytest.assertion.rewrite":
            overlay.waits_for_pytest = True
        elif fullname == "torch._dynamo.convert_frame":
            overlay.record.note("compiler", "torch.compile")
        elif fullname in _STARTERS:
            import _posixsubprocess

            _put_door(_posixsubprocess, "fork_exec")
        path = loader.get_filename(fullname)
        if overlay.is_target(path):
            return overlay.rewrite().module(loader, path)
    except Exception:  # Whatever failed, the original road is open.
        pass
    return None


def _compile(*args, **keywords):
    """Stands in for the builtin `compile`: the road of `runpy`, pytest, and programs that execute files themselves."""
    filename = args[1] if len(args) > 1 else keywords.get("filename")
    dont_inherit = args[4] if len(args) > 4 else keywords.get("dont_inherit", False)
    inherited = 0 if dont_inherit else sys._getframe(1).f_code.co_flags & _FUTURE_FLAGS
    if type(filename) is not str:
        filename = _text_of(filename)
    if filename.rpartition("/")[2] in _overlay.plan.BASENAMES:
        code = _probed_source(filename, inherited, args, keywords)
        if code is not None:
            return code
    if inherited:
        return _with_flags(inherited, args, keywords)
    return _real_compile(*args, **keywords)


def _text_of(filename):
    try:
        return os.fsdecode(filename)
    except Exception:
        return ""


def _probed_source(filename, inherited, args, keywords):
    try:
        if _overlay.is_target(filename):
            return _overlay.rewrite().source(filename, inherited, args, keywords)
    except Exception:  # The original call below reports what is wrong with the program's source.
        pass
    return None


def _with_flags(inherited, args, keywords):
    """Repeats the caller's `__future__` flags, which the builtin would have taken from the caller's own frame."""
    if len(args) > 3:
        args = args[:3] + (args[3] | inherited,) + args[4:]
    else:
        keywords = dict(keywords, flags=keywords.get("flags", 0) | inherited)
    return _real_compile(*args, **keywords)


class _Door(type):
    """The kind of the stand-ins for C functions: calling one ends in C, so that a failure shows no frame of ours."""

    def __repr__(cls):
        return repr(cls.real)

    @property
    def __signature__(cls):
        import inspect

        return inspect.signature(cls.real)


def _put_door(module, name):
    """Puts a stand-in before a function by which a program gets out of the overlay's sight; what it does is in `doors.py`."""
    real = getattr(module, name)
    if type(real) is _Door:
        return real

    def through(cls, *args, **keywords):
        try:
            call = _overlay.part("doors").through
        except Exception:
            return real(*args, **keywords)
        return call(cls, _overlay, real, args, keywords)

    looks = {"__new__": through, "__module__": real.__module__, "__doc__": real.__doc__, "real": real, "__slots__": ()}
    door = _Door(name, (), looks)
    setattr(module, name, door)
    return door


def _put_doors():
    """Puts those that can be put at the start, and what belongs to a `subprocess` that was loaded before."""
    import posix
    import zipimport

    for name in ("execv", "execve", "posix_spawn", "posix_spawnp"):
        if hasattr(posix, name):
            setattr(os, name, _put_door(posix, name))
    _put_door(zipimport, "_get_module_code")
    zipimport.compile = _real_compile  # No file in an archive is probed.
    if "_posixsubprocess" in sys.modules:
        door = _put_door(sys.modules["_posixsubprocess"], "fork_exec")
        if hasattr(sys.modules.get("subprocess"), "_fork_exec"):
            sys.modules["subprocess"]._fork_exec = door


def _disguise():
    """Gives the functions of this file names that tracers skip, and the stand-ins the looks of what they replace."""
    for owner in (globals(), Record.__dict__, Overlay.__dict__, _Door.__dict__):
        for function in list(owner.values()):
            if type(function) is type(_disguise) and function.__module__ == __name__:
                function.__code__ = _renamed(function.__code__, "<bystander>")
    for function in (_get_code, _probed_code):  # Frames that an import error never shows.
        function.__code__ = _renamed(function.__code__, "<frozen importlib._bootstrap_external>")
    _get_code.__name__, _get_code.__qualname__ = "get_code", "SourceLoader.get_code"
    _get_code.__module__ = _real_get_code.__module__
    _compile.__name__ = _compile.__qualname__ = "compile"
    _compile.__module__, _compile.__doc__ = "builtins", _real_compile.__doc__


def start(folder):
    """Installs the overlay of `folder` in this process, once."""
    global _overlay
    if _overlay is not None:
        return
    from bystander_overlay import plan

    overlay = Overlay(folder, plan)
    overlay.record.begin(os.getppid())
    _overlay = overlay
    _disguise()
    _external.compile = _real_compile  # Imports of unprobed files keep the road, and the traceback, that they had.
    _external.SourceLoader.get_code = _get_code
    builtins.compile = _compile
    os.register_at_fork(after_in_child=overlay.forked, after_in_parent=overlay.has_forked)
    _put_doors()
    if sys.flags.no_site == 0:
        overlay_script(overlay)


def overlay_script(overlay):
    """Looks whether the interpreter is about to run a probed file as its script; most command lines end here."""
    argv = getattr(sys, "orig_argv", None)
    if argv is None:
        with open("/proc/self/cmdline", "rb") as file:
            argv = [os.fsdecode(item) for item in file.read().split(b"\0")[:-1]]
    for item in argv[1:]:
        if item.rpartition("/")[2] in overlay.plan.BASENAMES:
            overlay.part("script").take_over(overlay, argv)
            return
