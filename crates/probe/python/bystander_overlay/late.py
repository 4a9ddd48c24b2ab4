"""The overlay in a process that was not started under it: a statement in the text of a probed file loads it at its first pass.

The statement calls a function under a name in `sys`, and nothing else: it names no variable of the program, so its scopes stay as
they are. What is captured is read from the frame. Executed by the statement with `FOLDER`, `KEY` and `NAME` as globals; the rest of
the overlay is loaded from `FOLDER` and shared with an overlay that is there already. Whatever fails leaves a function that does nothing.
"""

import os
import sys

import _ast
import _frozen_importlib_external as _external

_PACKAGE = "bystander_overlay"
_OPTIMIZED = 0x1
_READS_LOCALS = frozenset(("locals", "vars", "dir", "eval", "exec"))
_MOST_SLOTS = 65536
_MOST_BYTES = 1 << 26
_STATE = "_bystander_late"


def begin(frame, missed, ready):
    """Arms the probe, lets the threads go on that wait meanwhile, and takes this pass as the first hit.

    `frame` is that of the pass; `missed` holds one entry for each pass that could not wait; `ready` gets the function that takes a hit.
    """
    state = _state()
    take = state.armed(NAME, KEY)  # noqa: F821
    if take is None:
        setattr(sys, KEY, _nothing)  # noqa: F821
        return
    setattr(sys, KEY, lambda code, names=0: take(sys._getframe(1) if names != 0 else code))  # noqa: F821
    ready.append(take)
    state.count_missed(NAME, len(missed))  # noqa: F821
    take(frame)


def _nothing(code, names=0):
    """Stands where no hit can be taken."""


def _state():
    """The one state of this folder in this process."""
    states = sys.__dict__.setdefault(_STATE, {})
    if FOLDER not in states:  # noqa: F821
        states[FOLDER] = _State(FOLDER)  # noqa: F821
    return states[FOLDER]  # noqa: F821


class _State:
    """What the overlay of one folder is in this process: its plan, its record, its ring. Stands in for the overlay to the rewriter."""

    def __init__(self, folder):
        package = _package(folder)
        self.folder = folder
        self.plan = _plan(folder)
        self.record = package.Record(self.plan.RING_FOLDER)
        self.record.begin(os.getppid())
        self.package = package
        rewrite = package.load_part(folder, "rewrite")
        _make_room(sum(probe["limit"] for probe in self.plan.PROBES))
        self.rewriter = rewrite.Rewriter(self, package._real_compile)
        os.register_at_fork(after_in_child=self.forked, after_in_parent=self.has_forked)

    def forked(self):
        """Gives a forked child a record and a ring of its own."""
        self.package.begin_child(self)

    def has_forked(self):
        """Counts a fork."""
        self.package.count_fork(self)

    def armed(self, name, key):
        """The function that takes a hit of a probe from a frame; None where the probe cannot be placed."""
        probe = self._probe(name)
        path = next(path for path, indices in self.plan.TARGETS.items() if probe["index"] in indices)
        with open(path, "rb") as file:
            tree = self.package._real_compile(file.read(), path, "exec", 0x400, True)
        _take_out(tree, key)
        for found, site in self.rewriter._sites(tree, [probe]):
            injection = _injection(key)(found, site)
            if self.rewriter._place(found, site, injection):
                return _reader(injection)
        return None

    def count_missed(self, name, passes):
        """Counts passes whose values nobody saw; whether a condition would have held is not known."""
        if passes:
            probe = self._probe(name)
            self.record.tell("missed", probe["index"], passes, passes if probe.get("condition") is None else 0)

    def _probe(self, name):
        return next(probe for probe in self.plan.PROBES if probe["name"] == name)


def _package(folder):
    """The package of the overlay: what is there already, or that of the folder, outside of `sys.path`."""
    if _PACKAGE in sys.modules:
        return sys.modules[_PACKAGE]
    place = folder + "/" + _PACKAGE
    loader = _external.SourceFileLoader(_PACKAGE, place + "/__init__.py")
    module = type(sys)(_PACKAGE)
    module.__package__, module.__path__, module.__file__ = _PACKAGE, [place], place + "/__init__.py"
    sys.modules[_PACKAGE] = module
    try:
        exec(loader.get_code(_PACKAGE), module.__dict__)
        module._disguise()
    except BaseException:
        del sys.modules[_PACKAGE]
        raise
    return module


def _make_room(hits):
    """Lets rings be as large as the limits ask for: nobody may be reading them."""
    rings, natives = sys.modules[_PACKAGE + ".ring"], sys.modules[_PACKAGE + ".native"]
    rings._SLOTS_MOST = max(rings._SLOTS_MOST, min(hits, _MOST_SLOTS))
    natives._MOST_BYTES = max(natives._MOST_BYTES, _MOST_BYTES)


def _plan(folder):
    """The plan of the folder, apart from one that an overlay of this process may have."""
    module = type(sys)(_PACKAGE + ".plan")
    path = "%s/%s/plan.py" % (folder, _PACKAGE)
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def _take_out(tree, key):
    """Takes the statement out of the tree, so that places are found as they were before it went in."""
    trees = sys.modules[_PACKAGE + ".tree"]
    for spot in list(trees.spots(tree)):
        if isinstance(spot.statement, _ast.Expr) and any(
            isinstance(part, _ast.Constant) and part.value == key for part in trees.walk(spot.statement)
        ):
            block = spot.blocks[-1].statements
            del block[[item is spot.statement for item in block].index(True)]


def _injection(key):
    """The class of injections whose every name comes with the store, and may have no value."""
    inject = sys.modules[_PACKAGE + ".inject"]

    class Injection(inject.Injection):
        """Reads nothing by itself: the frame that stores is not that of the program."""

        def __init__(self, probe, site):
            inject.Injection.__init__(self, probe, site)
            self.hook = "__bystander_%s__" % key

        def _origin(self, name):
            if name not in self.arguments:
                self.arguments.append(name)
            return inject.ARGUMENT, self.arguments.index(name)

        def _judge(self):
            self.uncertain.update(self.arguments)

    return Injection


def _reader(injection):
    """Makes the function that reads the arguments from a frame and stores them."""
    arguments = injection.arguments
    tracing = sys.gettrace

    def take(frame):
        try:
            absent, code = injection.armed, frame.f_code
            around = (frame.f_globals, frame.f_builtins)
            names = frame.f_locals if arguments else {}
            values = tuple([_value(name, names, around, absent) for name in arguments])
            # Before 3.13 the frame keeps what it showed: objects would live longer than the program means them to.
            if type(names) is dict and code.co_flags & _OPTIMIZED and tracing() is None and _READS_LOCALS.isdisjoint(code.co_names):
                names.clear()
        except Exception as error:
            if _is_programs(error):
                raise
            return
        injection.armed[0] = values

    return take


def _value(name, names, around, absent):
    if name in names:
        return names[name]
    for namespace in around:
        if type(namespace) is dict and name in namespace:
            return namespace[name]
    return absent


def _is_programs(error):
    """Tells whether an exception came from a signal handler of the program."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals is not globals():
            return True
        trace = trace.tb_next
    return False
