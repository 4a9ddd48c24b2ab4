"""Turns a value into plain data that `marshal` writes: scalars as they are, everything else as a dict of what is known.

Decides by `type(v) is` alone, so no code of the program runs and nothing of the value is kept. The limits: 200 characters,
100 bytes, 8 items, depth 2.
"""

import sys

from bystander_overlay import reading
from bystander_overlay.secret import NEVER, secrecy
from bystander_overlay.trouble import is_ordinary

TEXT_LIMIT, BYTES_LIMIT, ITEM_LIMIT, DEPTH = 200, 100, 8, 2
_KEY_LIMIT = 50
_INT_BITS = 2048
_REDACTED = {"redacted": True}
_arguments = BaseException.__dict__["args"].__get__


def encode(value, depth=DEPTH):
    """Encodes one value."""
    kind = type(value)
    if value is None or kind is float or kind is bool:
        return value
    if kind is int:
        return value if value.bit_length() <= _INT_BITS else _huge(value)
    if kind is str:
        return value if len(value) <= TEXT_LIMIT else _cut("str", len(value), value[:TEXT_LIMIT])
    if kind is list or kind is tuple:
        return _sequence(value, kind, depth)
    if kind is dict:
        return _mapping(value, depth)
    if kind is bytes or kind is bytearray:
        return _bytes(value, kind)
    if kind is set or kind is frozenset:
        return {"type": kind.__name__, "len": len(value)}
    if kind is complex:
        return {"type": "complex", "text": repr(value)}
    return _other(value, kind)


def redacted():
    """What stands for a value that is withheld."""
    return _REDACTED


def error(word):
    """What stands for a value that could not be read."""
    return {"error": word}


def _cut(name, length, text):
    return {"type": name, "len": length, "text": text, "truncated": True}


def _huge(value):
    return {"type": "int", "text": "%d bits" % value.bit_length(), "truncated": True}


def _bytes(value, kind):
    text = repr(bytes(value[:BYTES_LIMIT]))
    if len(value) > BYTES_LIMIT:
        return _cut(kind.__name__, len(value), text)
    return {"type": kind.__name__, "len": len(value), "text": text}


def _sequence(value, kind, depth):
    known = {"type": kind.__name__, "len": len(value)}
    if depth > 0:
        known["items"] = [encode(entry, depth - 1) for entry in value[:ITEM_LIMIT]]
        if len(value) > ITEM_LIMIT:
            known["truncated"] = True
    return known


def _mapping(value, depth):
    known = {"type": "dict", "len": len(value)}
    if depth <= 0:
        return known
    entries = known["entries"] = {}
    try:
        for key, entry in value.items():
            name = key[:TEXT_LIMIT] if type(key) is str else _key(key)
            if name is None or len(entries) == ITEM_LIMIT:
                known["truncated"] = True
                break
            entries[name[:_KEY_LIMIT]] = encode(entry, depth - 1) if secrecy(name) == NEVER else _REDACTED
    except RuntimeError:  # Another thread changed the dict meanwhile.
        known["truncated"] = True
    return known


def _key(key):
    """The text of a key that is no str; None where to make it could run code of the program, or take long."""
    kind = type(key)
    if kind is str or not _is_short(key, kind, DEPTH):
        return None
    return repr(key)


def _is_short(key, kind, depth):
    """Tells whether a key is an exact built-in whose text is short, and a tuple all of whose items are."""
    if kind is int:
        return key.bit_length() <= _INT_BITS
    if kind is float or kind is bool or key is None:
        return True
    if kind is str or kind is bytes:
        return len(key) <= TEXT_LIMIT
    if kind is tuple and depth > 0 and len(key) <= ITEM_LIMIT:
        return all([_is_short(item, type(item), depth - 1) for item in key])
    return False


def _other(value, kind):
    known = {"type": reading.type_name(kind)}
    bases = type.__dict__["__mro__"].__get__(kind)
    for base in bases:
        if base is int:
            known["text"] = int.__repr__(value) if int.bit_length(value) <= _INT_BITS else "huge"
        elif base is float:
            known["text"] = float.__repr__(value)
        elif base is str and "text" not in known:
            known["text"] = str.__getitem__(value, slice(0, TEXT_LIMIT))
        elif base is BaseException:
            _add_message(value, known)
    if "torch" in sys.modules:
        _describe_tensor(value, kind, known)
    _name_member(value, kind, known)
    return known


def _add_message(value, known):
    """Gives what an exception was made with, as far as that is plain text."""
    texts = [item for item in _arguments(value) if type(item) is str]
    if texts:
        known["text"] = ", ".join(item[:TEXT_LIMIT] for item in texts[:ITEM_LIMIT])[:TEXT_LIMIT]


def _name_member(value, kind, known):
    """Gives the member's name of an enumeration, which is stored in the member itself."""
    enum = sys.modules.get("enum")
    if enum is not None and type(kind) is enum.EnumMeta:
        try:
            name = reading.attribute(value, "_name_")
        except reading.Unreadable:
            return
        if type(name) is str:
            known["text"] = name[:TEXT_LIMIT]


def _describe_tensor(value, kind, known):
    """Adds the metadata of an exact torch tensor, read with every hook of torch switched off."""
    torch = sys.modules["torch"]
    try:
        parameter = reading.attribute(reading.attribute(torch, "nn"), "Parameter")
        if kind is not reading.attribute(torch, "Tensor") and kind is not parameter:
            return
        guard = reading.attribute(reading.attribute(torch, "_C"), "DisableTorchFunction")
        with guard():
            known["shape"] = [int(size) for size in value.shape]
            known["dtype"] = str(value.dtype)
            known["device"] = str(value.device)
    except Exception as error:
        if not is_ordinary(error):
            raise
        # A torch that is still being imported, a lazy parameter, another version: the type has to do.
        for key in ("shape", "dtype", "device"):
            known.pop(key, None)
