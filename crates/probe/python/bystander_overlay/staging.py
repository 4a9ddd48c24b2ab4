"""The hit path of `unsafe` captures: expressions that the program's own code evaluates, one by one, and that are timed.

The store opens a stage for its frame and thread, where the hit has passed its gate; calls fill it. A probe whose expressions
take too long disables itself and says so.
"""

import sys
from _thread import _local
from time import monotonic_ns

from bystander_overlay import encode as encoding
from bystander_overlay.hook import Recorder, _published
from bystander_overlay.statement import SURVIVES_RECURSION
from bystander_overlay.trouble import belongs_to_program, raised, without_ours

LONGEST_NS = 100000000
"""One evaluation may take this long, and together they may before their share of the time counts."""
LARGEST_SHARE = 0.1
"""The part of the time since the probe was put in that evaluations may take."""


class _Stage:
    """One hit that is being put together."""

    __slots__ = ("shown", "started")

    def __init__(self, shown):
        self.shown = shown
        self.started = 0


class _Staging:
    """The stages of one probe, and what its expressions have cost."""

    def __init__(self, ring, index, injection, gate, say):
        self.recorder = Recorder(ring, index, injection)
        self.gate = gate
        self.say = say
        self.local = _local()
        self.armed = monotonic_ns()
        self.spent = 0
        self.disabled = False

    def begin(self, depth, values, frame):
        """Passes the gate and opens a stage for a frame; an old one of a frame that ended early is forgotten."""
        stages = self.local.__dict__
        stages.pop(id(frame), None)
        if not self.gate.passes() or self.disabled:
            return
        values = self.recorder.extended(values, depth, frame)
        if self.gate.holds is None or self.gate.holds(values):
            stages[id(frame)] = _Stage(self.recorder.shown(values))

    def stage_of(self, frame):
        """The open stage of a frame, or None."""
        return self.local.__dict__.get(id(frame))

    def keep(self, stage, index, shown):
        """Keeps what an expression gave, and looks at what it took."""
        took = monotonic_ns() - stage.started
        stage.shown[index] = shown
        self.spent += took
        share = self.spent > LONGEST_NS and self.spent > LARGEST_SHARE * (monotonic_ns() - self.armed)
        if (took > LONGEST_NS or share) and not self.disabled:
            self.disabled = True
            self.say(_expense(self.recorder.captures[index].text, took, self.spent, share and took <= LONGEST_NS))


def _expense(text, took, spent, share):
    if share:
        return "too expensive: its expressions took %d ms, over a tenth of the time" % (spent // 1000000)
    return "too expensive: `%s` took %d ms" % (text.strip(), took // 1000000)


def staged(ring, index, injection, gate, say):
    """Makes the object of a probe with `unsafe` expressions; `say(text)` notes that it disabled itself."""
    staging = _Staging(ring, index, injection, gate, say)

    def store(self, key, values):
        depth = ~key
        handled = sys.exc_info()[1] if depth else None
        try:
            staging.begin(depth, values, sys._getframe(1))
        except BaseException as error:
            if belongs_to_program(error):
                if depth:
                    without_ours(error, handled, depth)
                raise
            ring.note_error()

    def open_stage(self):
        return staging.stage_of(sys._getframe(1)) is not None

    def start(self):
        staging.stage_of(sys._getframe(1)).started = monotonic_ns()

    def stage(self, index, value):
        staging.keep(staging.stage_of(sys._getframe(1)), index, staging.recorder.captures[index].shown(value))

    def fail(self, index):
        kind = sys.exc_info()[0]
        found = staging.stage_of(sys._getframe(1))
        if found is not None:
            staging.keep(found, index, encoding.error(type.__dict__["__qualname__"].__get__(kind)))
        if not issubclass(kind, Exception) or (kind is RecursionError and not SURVIVES_RECURSION):
            raise

    def commit(self):
        found = staging.local.__dict__.pop(id(sys._getframe(1)), None)
        if found is not None:
            staging.recorder.write(found.shown)

    methods = {"__setitem__": store, "open": open_stage, "start": start, "stage": stage, "fail": fail, "commit": commit}
    methods["raised"] = lambda self: raised(0)
    return _published(methods)
