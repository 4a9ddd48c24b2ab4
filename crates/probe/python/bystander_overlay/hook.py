"""The hit path in plain Python: objects that stand where an injected statement stores. No lock, no system call, no reference kept.

No code of the program runs, unless a capture is `unsafe`. A hit passes its gate, evaluates, encodes, and writes one slot of the
ring; the commit byte comes last. Exceptions that a signal handler of the program raises meanwhile belong to the program and go
through; failures of ours are counted.
"""

import sys
from _struct import Struct
from _thread import _local, get_native_id
from marshal import dumps
from time import time_ns

from bystander_overlay import encode as encoding
from bystander_overlay.ring import HITS, LENGTH_SHIFT, PASSES, SLOT_FORMAT, STORES_AT_ONCE
from bystander_overlay.secret import NEVER
from bystander_overlay.trouble import belongs_to_program, raised, without_ours

_TEXT_LIMIT = encoding.TEXT_LIMIT
_ITEM_LIMIT = encoding.ITEM_LIMIT


def is_direct(injection, probe):
    """Tells whether the captures are exactly the arguments, so that nothing has to be evaluated or asked."""
    captures = injection.captures
    plain = [item.argument for item in captures] == list(range(len(injection.arguments))) and not injection.uncertain
    asked = injection.condition is not None or probe.get("rate") is not None or injection.is_staged()
    return plain and not asked and all(item.secrecy == NEVER for item in captures)


def _published(methods):
    """Makes the object that a statement stores into, of a class of its own.

    It can be called, to no effect: torch's compiler takes a builtin that is neither a constant nor callable for a fault of its own.
    """
    named = dict(methods, __slots__=(), __module__="bystander_overlay.hook")
    named.setdefault("__call__", lambda self: None)
    return type("Probe", (object,), named)()


def nothing():
    """Makes an object that takes every store and records nothing."""

    def store(self, depth, values):
        pass

    def open_stage(self):
        return False

    return _published({"__setitem__": store, "open": open_stage})


def _encoded(values):
    return [encoding.encode(value) for value in values]


def _shrunk(shown, capacity):
    """Makes encoded values fit a slot: the large ones keep their type and length only."""
    share = max(24, capacity // max(1, len(shown)) - 8)
    small = []
    for value in shown:
        if len(dumps(value, 2)) > share:
            known = {"truncated": True}
            if type(value) is dict:
                known.update((key, value[key]) for key in ("type", "len") if key in value)
            elif type(value) is str:
                known.update(type="str", len=len(value), text=value[: max(0, share // 4 - 12)])
            value = known
        small.append(value)
    return dumps(small, 2)


def _fitting(shown, capacity):
    payload = dumps(shown, 2)
    return payload if len(payload) <= capacity else _shrunk(shown, capacity)


def direct(ring, index, limit):
    """Makes the object of a probe whose captures are its arguments: one call, one loop over the types."""
    words, passed, hits = ring.words, ring.word(PASSES, index), ring.word(HITS, index)
    take, claim = ring.numbers_of(PASSES, index), ring.claim
    take_hit = None if STORES_AT_ONCE else ring.numbers_of(HITS, index)
    memory, mask, slot_bytes = ring.memory, ring.slots - 1, ring.slot_bytes
    commits, data = ring.commit_offset, ring.data_offset
    capacity = ring.capacity
    put = Struct(SLOT_FORMAT % capacity).pack_into
    local = _local()

    def store(self, depth, values):
        try:
            number = take()
            if words[passed] <= number:
                words[passed] = number + 1
            if take_hit is not None:
                take_hit()
            elif words[hits] <= number:
                words[hits] = number + 1
            if number >= limit:
                return
            sequence = claim()
            slot = sequence & mask
            commit = commits + slot
            if memory[commit]:
                return
            for value in values:
                kind = type(value)
                if kind is int or kind is float or value is None or kind is bool:
                    continue
                if kind is str and len(value) <= _TEXT_LIMIT:
                    continue
                if kind is tuple and len(value) <= _ITEM_LIMIT:
                    for item in value:
                        kind = type(item)
                        if not (kind is int or kind is float or item is None or kind is bool):
                            break
                    else:
                        continue
                payload = dumps(_encoded(values), 2)
                break
            else:
                payload = dumps(values, 2)
            length = len(payload)
            if length > capacity:
                payload = _shrunk(_encoded(values), capacity)
                length = len(payload)
            try:
                thread = local.id
            except AttributeError:
                thread = local.id = get_native_id()
            if not sequence:
                ring.note_name()
            put(memory, data + slot * slot_bytes, sequence, time_ns(), thread, length << LENGTH_SHIFT | index, payload)
            memory[commit] = 1
        except Exception as error:
            if belongs_to_program(error):
                raise
            ring.note_error()

    return _published({"__setitem__": store})


class Recorder:
    """Evaluates, encodes and writes the hits of one probe that have passed the gate."""

    def __init__(self, ring, index, injection):
        self.ring = ring
        self.index = index
        self.captures = injection.captures
        self.namespaces = injection.namespaces()
        self.raises = injection.reads_raised()
        self.local = _local()

    def extended(self, values, depth, frame):
        """Adds what does not come with the store: the exception being handled, the dicts of the module around."""
        error = raised(depth) if self.raises else None
        return values + (error, self.namespaces(frame) if self.namespaces is not None else ())

    def shown(self, values):
        """Evaluates and encodes every capture but the staged ones."""
        return [None if item.staged else item.encoded(values) for item in self.captures]

    def write(self, shown):
        """Writes one slot, or drops the hit where the ring is full."""
        ring = self.ring
        sequence = ring.claim()
        if ring.is_taken(sequence):
            return
        try:
            thread = self.local.id
        except AttributeError:
            thread = self.local.id = get_native_id()
        if not sequence:
            ring.note_name()
        ring.put(sequence, time_ns(), thread, self.index, _fitting(shown, ring.capacity))


def general(ring, index, injection, gate):
    """Makes the object of a probe that evaluates, or whose gate asks something."""
    recorder = Recorder(ring, index, injection)
    passes, holds = gate.passes, gate.holds

    def store(self, depth, values):
        handled = sys.exc_info()[1] if depth else None
        try:
            if not passes():
                return
            values = recorder.extended(values, depth, sys._getframe(1))
            if holds is None or holds(values):
                recorder.write(recorder.shown(values))
        except BaseException as error:
            if belongs_to_program(error):
                if depth:
                    without_ours(error, handled, depth)
                raise
            ring.note_error()

    return _published({"__setitem__": store})
