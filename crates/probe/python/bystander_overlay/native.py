"""Probes that are served by the native recorder: loading it, its ring, and what a hit costs here.

Where it cannot be loaded (before 3.10, other interpreters, free-threaded ones, a folder from which nothing may be executed) or
cannot do what a probe asks, plain Python serves. A recorder never says why in the program: the receipt says which one it was.
"""

import os
import sys
import time

import _ast
import _imp
from _frozen_importlib import ModuleSpec

from bystander_overlay import program as programs
from bystander_overlay import ring as rings

FILE = "bystander_recorder.abi3.so"
_MODULE = "bystander_recorder"
_RING, _SCRATCH = 0, 1
"""The recorder's two states: the ring of the process, and one that a cost is measured with."""
_LEAST_BYTES, _MOST_BYTES = 1 << 16, 1 << 23
_SCRATCH_BYTES = 1 << 18
_MOST_RECORD = 1 << 15
_ENDLESS = 1 << 62
_SECOND = 1000000000
_BATCHES, _HITS_A_BATCH = 7, 150
_PLAIN_BATCHES, _PLAIN_HITS_A_BATCH = 3, 40
_loaded = {}


def _module(folder):
    """The recorder's module, loaded once from the overlay's folder; None where there is none for this interpreter."""
    if folder not in _loaded:
        _loaded[folder] = None
        fits = sys.implementation.name == "cpython" and sys.version_info >= (3, 10) and not hasattr(sys, "getobjects")
        if fits and "t" not in getattr(sys, "abiflags", ""):
            try:
                module = _imp.create_dynamic(ModuleSpec(_MODULE, None, origin="%s/bystander_overlay/%s" % (folder, FILE)))
                _imp.exec_dynamic(module)
                _loaded[folder] = module
            except (ImportError, OSError, SystemError):
                pass
    return _loaded[folder]


def _bytes_for(probes):
    """The size of the ring: room for every hit that the limits allow, up to the most."""
    wanted = sum(probe["limit"] * (64 + 64 * (len(probe["capture"]) + 1)) for probe in probes)
    size = _LEAST_BYTES
    while size < min(wanted, _MOST_BYTES):
        size *= 2
    return size


class Native:
    """The native recorder of this process, and its ring."""

    def __init__(self, module, probes):
        self.module = module
        self.quiet = _quiet(module.Probe)
        self.probes = probes
        self.is_open = False

    def probe(self, index, injection, stem):
        """Makes the object that an injected statement stores into, and the ring of this process; None where the recorder cannot do
        what is asked. Raises `OSError` where there is no room for a ring."""
        try:
            parts = _parts(injection)
        except programs.Inexpressible:
            return None
        if not self.is_open:
            rings.stream(self.module, _RING, stem + ".stream", _bytes_for(self.probes), len(self.probes))
            self.is_open = True
        return self._made(index, _RING, self.probes[index]["limit"], parts, self._interval(index))

    def _interval(self, index):
        rate = self.probes[index].get("rate")
        return 0 if rate is None else max(1, int(_SECOND / rate))

    def _made(self, index, state, limit, parts, interval):
        condition, captures, constants = parts
        most = max(_MOST_RECORD, 128 * len(captures))
        kind = self.module.Probe if self.probes[index].get("compiled") == "break" else self.quiet
        return kind(index, state, min(limit, _ENDLESS), interval, most, condition, constants, captures)

    def cost(self, injection):
        """What one recorded hit costs here, in ns: measured with a ring that nobody reads; None where there is none."""
        _, captures, constants = _parts(injection)
        try:
            handle = rings.scratch(self.module, _SCRATCH, _SCRATCH_BYTES)
        except OSError:
            return None
        try:
            probe = self._made(0, _SCRATCH, _ENDLESS, (None, captures, constants), 0)
            return _cost(probe, _samples(injection), handle)
        finally:
            self.module.close(_SCRATCH)
            os.close(handle)

    def count_fork(self):
        """Counts a fork of this process in its ring; false where there is none."""
        if self.is_open:
            self.module.forked(_RING)
        return self.is_open

    def forked(self):
        """Forgets the parent's ring, which the recorder has lost by itself."""
        self.is_open = False


def native(folder, probes):
    """The native recorder for a process's probes; None where plain Python has to do."""
    module = _module(folder) if folder is not None else None
    return None if module is None else Native(module, probes)


def serves(injection):
    """Tells whether a probe is served by the native recorder."""
    return type(injection.armed).__name__ == "Probe" and type(injection.armed).__module__ == _MODULE


def _quiet(kind):
    """The recorder's type as torch's compiler takes it: it looks a store up by name, finds a method that does nothing, and compiles that.

    So a probe breaks no graph, also in a function that it never told anybody of; compiled calls pass unseen. The interpreter
    itself stores by the type's slot, which is the recorder's: only the name is put in, past `type.__setattr__`.
    """
    made = type("Probe", (kind,), {"__slots__": (), "__module__": _MODULE})
    names = made.__dict__ | _Reached()
    names["__setitem__"] = _store
    return made


class _Reached:
    """Is given what a mapping proxy stands for, as the other side of an operation with it."""

    def __ror__(self, mapping):
        return mapping


def _store(self, key, values):
    pass


def _parts(injection):
    constants = programs.Constants()
    local = injection.whole_namespace
    condition = None if injection.condition is None else programs.program(injection.condition, constants, local)
    captures = tuple(programs.part(item, constants, local) for item in injection.captures)
    return condition, captures, tuple(constants.values)


class _Sample:
    """Stands for an argument whose attributes are captured."""


def _samples(injection):
    """Values like those of a hit: numbers, and objects where attributes are read."""
    values = [number * 1000 + 1 for number in range(len(injection.arguments))]
    for capture in injection.captures:
        node, names = capture.node, []
        while isinstance(node, _ast.Attribute):
            names.append(node.attr)
            node = node.value
        kind, index = capture.roots.get(node.id, (None, None)) if isinstance(node, _ast.Name) else (None, None)
        if names and kind == programs.ARGUMENT:
            if type(values[index]) is int:
                values[index] = _Sample()
            owner = values[index]
            for name in reversed(names[1:]):
                owner = owner.__dict__.setdefault(name, _Sample())
                if type(owner) is not _Sample:
                    break
            else:
                owner.__dict__.setdefault(names[0], 7)
    return tuple(values)


def plain_cost(probe, injection, free):
    """What one recorded hit of plain Python costs here, in ns; `free` empties the ring that it is tried with."""
    values = _samples(injection)
    store, turn = _loops(len(values))
    store(probe, 1, *values)
    stored, turned = [], []
    for _ in range(_PLAIN_BATCHES):
        free()
        stored.append(store(probe, _PLAIN_HITS_A_BATCH, *values))
        turned.append(turn(probe, _PLAIN_HITS_A_BATCH, *values))
    return max(1, (min(stored) - min(turned)) // _PLAIN_HITS_A_BATCH)


def _cost(probe, values, handle):
    """The least time of a store over some batches, none of which fills the ring, less that of a turn of the loop around it."""
    store, turn = _loops(len(values))
    store(probe, 1, *values)
    size = max(1, rings.discard(handle))
    hits = max(1, min(_HITS_A_BATCH, _SCRATCH_BYTES // 2 // size))
    stored, turned = [], []
    for _ in range(_BATCHES):
        stored.append(store(probe, hits, *values))
        turned.append(turn(probe, hits, *values))
        rings.discard(handle)
    return max(1, (min(stored) - min(turned)) // hits)


def _loops(arguments):
    """Makes two functions that give the time of some turns of a loop: one that stores as an injected statement does, and an empty one."""
    names = "".join("a%d, " % number for number in range(arguments))
    made = {"clock": time.perf_counter_ns, "range": range}
    for name, statement in (("store", "probe[0] = (%s)" % names), ("turn", "pass")):
        lines = (
            "def %s(probe, hits, %s):" % (name, names), " start = clock()", " for _ in range(hits):", "  try:", "   " + statement,
            "  except (NameError, RecursionError, MemoryError):", "   pass", " return clock() - start", "",
        )  # fmt: skip
        exec(compile("\n".join(lines), "<bystander native>", "exec", 0, True), made)
    return made["store"], made["turn"]
