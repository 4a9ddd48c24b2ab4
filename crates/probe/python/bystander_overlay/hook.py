"""The hit path: what an injected statement calls. No lock, no system call, no code of the program, no reference kept.

A hit takes a number, checks the limit, encodes, and writes one slot of the ring; the commit byte comes last. Exceptions that
a signal handler of the program raises meanwhile belong to the program and go through; failures of ours are counted.
"""

import sys
from _struct import Struct
from _thread import _local, get_native_id
from marshal import dumps
from time import time_ns

from bystander_overlay import encode as encoding
from bystander_overlay.reading import Unreadable
from bystander_overlay.ring import HITS, LENGTH_SHIFT, SLOT_FORMAT
from bystander_overlay.secret import ALWAYS, NEVER, TEXT_ONLY

_OURS = (ValueError, TypeError, MemoryError, OverflowError, RecursionError, RuntimeError, IndexError, KeyError, AttributeError)
SURVIVES_RECURSION = sys.version_info >= (3, 9)
"""Before 3.9 the interpreter aborts when a RecursionError is swallowed and the recursion goes on; there it is the program's."""
_TEXT_LIMIT = encoding.TEXT_LIMIT
_ITEM_LIMIT = encoding.ITEM_LIMIT


def belongs_to_program(error):
    """Tells whether an exception that passes through the overlay came from a signal handler or another thread."""
    kind = type(error)
    if not any(kind is known for known in _OURS):
        return True
    if kind is RecursionError and not SURVIVES_RECURSION:
        return True
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__")
        if type(module) is not str or not module.startswith("bystander_overlay."):
            return True
        trace = trace.tb_next
    return False


def is_direct(captures, arguments):
    """Tells whether the captures are exactly the arguments, so that nothing has to be evaluated."""
    return [item.argument for item in captures] == list(range(arguments)) and all(item.secrecy == NEVER for item in captures)


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


def direct(ring, index, limit):
    """Makes the hook of a probe whose captures are its arguments: one call, one loop over the types."""
    words, hits = ring.words, HITS + index
    take, claim = ring.counter(index), ring.claim
    memory, mask, slot_bytes = ring.memory, ring.slots - 1, ring.slot_bytes
    commits, data = ring.commit_offset, ring.data_offset
    capacity = ring.capacity
    put = Struct(SLOT_FORMAT % capacity).pack_into
    local = _local()

    def hook(*values):
        try:
            number = take()
            if words[hits] <= number:
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

    return hook


class Capture:
    """One captured expression at one place: an argument by number, an evaluation, a staged value, or nothing at all."""

    def __init__(self, argument=None, evaluate=None, staged=False, secrecy=NEVER):
        self.argument = argument
        self.evaluate = evaluate
        self.staged = staged
        self.secrecy = secrecy

    def evaluates(self):
        """Tells whether the value comes from the hook's own arguments."""
        return not self.staged and self.secrecy != ALWAYS

    def encoded(self, values):
        """Evaluates and encodes; what fails is a value that says so."""
        try:
            value = values[self.argument] if self.evaluate is None else self.evaluate(values)
            return self.shown(value)
        except Unreadable as error:
            return encoding.error(error.word)
        except Exception as error:
            if belongs_to_program(error) and not isinstance(error, ArithmeticError):
                raise
            return encoding.error(type(error).__name__)

    def shown(self, value):
        """Encodes a value as far as its name permits."""
        if self.secrecy == TEXT_ONLY:
            kind = type(value)
            if not (kind is int or kind is float or kind is bool or value is None):
                return encoding.redacted()
        return encoding.encode(value)


def general(ring, index, limit, captures, namespaces):
    """Makes the hook of a probe that evaluates; `namespaces(frame)` gives the dicts in which its other names live."""
    words, hits = ring.words, HITS + index
    take, claim = ring.counter(index), ring.claim
    local = _local()
    staging = _Staging(captures, namespaces)

    def hook(*values):
        try:
            number = take()
            if words[hits] <= number:
                words[hits] = number + 1
            if number >= limit:
                return
            sequence = claim()
            if ring.is_taken(sequence):
                return
            frame = sys._getframe(1)
            if namespaces is not None:
                values += (namespaces(frame),)
            shown = staging.merge(frame, [item.encoded(values) if item.evaluates() else None for item in captures])
            try:
                thread = local.id
            except AttributeError:
                thread = local.id = get_native_id()
            if not sequence:
                ring.note_name()
            ring.put(sequence, time_ns(), thread, index, _fitting(shown, ring.capacity))
        except Exception as error:
            if belongs_to_program(error):
                raise
            ring.note_error()

    hook.begin, hook.stage, hook.fail = staging.begin, staging.stage, staging.fail
    return hook


class _Staging:
    """Values that had to be read one by one before the hit, by frame and thread, already encoded."""

    def __init__(self, captures, namespaces):
        self.captures = captures
        self.namespaces = namespaces
        self.local = _local()

    def begin(self):
        """Opens an empty stage for the calling frame."""
        stages = self.local.__dict__
        stages[id(sys._getframe(1))] = {}

    def stage(self, index, *values):
        """Keeps the value of one capture."""
        frame = sys._getframe(1)
        stage = self.local.__dict__.get(id(frame))
        if stage is not None:
            if self.namespaces is not None:
                values += (self.namespaces(frame),)
            stage[index] = self.captures[index].encoded(values)

    def fail(self, index):
        """Keeps the type of the exception that a capture met; what is no error of the expression goes on."""
        kind = sys.exc_info()[0]
        stage = self.local.__dict__.get(id(sys._getframe(1)))
        if stage is not None:
            stage[index] = encoding.error(type.__dict__["__qualname__"].__get__(kind))
        if not issubclass(kind, Exception):
            raise

    def merge(self, frame, shown):
        """Puts the staged values among the others and forgets the stage."""
        stage = self.local.__dict__.pop(id(frame), None) or {}
        for index, capture in enumerate(self.captures):
            if capture.staged:
                shown[index] = stage.get(index, encoding.error("NameError"))
            elif shown[index] is None and not capture.evaluates():
                shown[index] = encoding.redacted()
        return shown


def _fitting(shown, capacity):
    payload = dumps(shown, 2)
    return payload if len(payload) <= capacity else _shrunk(shown, capacity)
