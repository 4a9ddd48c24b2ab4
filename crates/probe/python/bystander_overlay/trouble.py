"""Whose an exception is that passes through the overlay: ours, to be counted, or the program's, to go on."""

import sys

from bystander_overlay.reading import Unreadable
from bystander_overlay.statement import SURVIVES_RECURSION

_OURS = (
    ValueError, TypeError, MemoryError, OverflowError, ZeroDivisionError, FloatingPointError, RecursionError, RuntimeError, IndexError,
    KeyError, AttributeError, UnicodeEncodeError,
)  # fmt: skip
_context = BaseException.__dict__["__context__"].__get__
_set_context = BaseException.__dict__["__context__"].__set__
_LONGEST_CHAIN = 100


def is_ordinary(error):
    """Tells whether an exception is one of those that our own code, and what it asks, may meet."""
    kind = type(error)
    return any(kind is known for known in _OURS) or isinstance(error, Unreadable)


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


def raised(depth):
    """The exception that is being handled around a store, below the failures of `depth` names that had no value."""
    error = sys.exc_info()[1]
    while depth > 0 and error is not None:
        error = _context(error)
        depth -= 1
    return error




def without_ours(error, handled, depth):
    """Takes the failures of `depth` names, of which `handled` is the last, out of what an exception says it happened during."""
    outer = handled
    for _ in range(depth):
        outer = _context(outer)
    link = error
    for _ in range(_LONGEST_CHAIN):
        context = _context(link)
        if context is handled:
            _set_context(link, outer)
        if context is None or context is handled:
            return
        link = context
