"""Reads attributes, items, lengths and type names of any object without running code of the program.

Only instance dictionaries, slots and plain class attributes are read: no property, no `__getattr__`, no `__getitem__`, no
`__len__` of a user's class. What would need them is `Unreadable`, with a word that says why.
"""

import sys
from types import GetSetDescriptorType, MemberDescriptorType

_mro = type.__dict__["__mro__"].__get__
_namespace = type.__dict__["__dict__"].__get__
_qualified = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_raw = object.__getattribute__
_MISSING = object()
_TORCH_STORES = ("_parameters", "_buffers", "_modules")
_LOOKUP_LIMIT = 4096
_NUMBERS = (int, float, bool, complex)
_PLAIN = _NUMBERS + (str, bytes, tuple, frozenset, type(None))
_SIZED = (str, bytes, bytearray, list, tuple, dict, set, frozenset, range)


class Unreadable(Exception):
    """A value that cannot be read without running code of the program; `word` is what a hit shows."""

    def __init__(self, word):
        Exception.__init__(self, word)
        self.word = word


def type_name(kind):
    """The qualified name of a type, `builtins` left out."""
    name = _qualified(kind)
    module = _module(kind)
    if type(module) is not str or module == "builtins":
        return name
    return module + "." + name


def attribute(owner, name):
    """Reads an attribute that is stored, in an instance, a slot or a class."""
    kind = type(owner)
    for base in _mro(kind):
        if base is type:
            return _class_attribute(owner, name)
    found = _static(kind, name)
    if found is not _MISSING:
        return _behind_descriptor(owner, name, found)
    try:
        return _raw(owner, name)
    except AttributeError:
        return _torch_attribute(owner, name)


def _static(kind, name):
    for base in _mro(kind):
        namespace = _namespace(base)
        if name in namespace:
            return namespace[name]
    return _MISSING


def _behind_descriptor(owner, name, found):
    kind = type(found)
    if kind is MemberDescriptorType:
        return found.__get__(owner)
    if _static(kind, "__get__") is _MISSING:
        return _raw(owner, name)
    if _static(kind, "__set__") is not _MISSING or _static(kind, "__delete__") is not _MISSING:
        raise Unreadable("PropertyNotRead")
    value = _instance_names(owner).get(name, _MISSING)
    if value is _MISSING:
        raise Unreadable("DescriptorNotRead")
    return value


def _instance_names(owner):
    getter = _static(type(owner), "__dict__")
    if type(getter) is not GetSetDescriptorType:
        raise Unreadable("DescriptorNotRead")
    names = getter.__get__(owner)
    if type(names) is not dict:
        raise Unreadable("DescriptorNotRead")
    return names


def _class_attribute(owner, name):
    found = _static(owner, name)
    if found is _MISSING:
        raise Unreadable("AttributeError")
    if _static(type(found), "__get__") is not _MISSING:
        raise Unreadable("DescriptorNotRead")
    return found


def _torch_attribute(owner, name):
    """Looks where `torch.nn.Module` keeps what its `__getattr__` would find."""
    if "torch" in sys.modules:
        ordered = sys.modules["collections"].OrderedDict
        for store in _TORCH_STORES:
            try:
                names = _raw(owner, store)
            except AttributeError:
                continue
            if type(names) is dict or type(names) is ordered:
                value = dict.get(names, name, _MISSING)
                if value is not _MISSING:
                    return value
    raise Unreadable("AttributeError")


def item(container, key):
    """Reads an item of an exact list, tuple, string, bytes or dict by a constant key."""
    kind = type(container)
    if kind is dict:
        return _entry(container, key)
    if kind is list or kind is tuple or kind is str or kind is bytes:
        if type(key) is not int:
            raise Unreadable("TypeError")
        return container[key]
    raise Unreadable("ItemNotRead")


def _entry(container, key):
    """Finds a key by going through the entries: a lookup by hash may ask keys of a user's class whether they are equal.

    Such a key may be the one that is meant, and must not be asked: where nothing else is found the answer is not known.
    """
    if len(container) > _LOOKUP_LIMIT:
        raise Unreadable("TooLargeToSearch")
    alike = _NUMBERS if _is_one_of(type(key), _NUMBERS) else (type(key),)
    known = True
    for candidate, value in container.items():
        kind = type(candidate)
        if _is_one_of(kind, alike):
            if candidate == key:
                return value
        elif known and not _is_one_of(kind, _PLAIN):
            known = False
    raise Unreadable("KeyError" if known else "KeyNotComparable")


def _is_one_of(kind, kinds):
    for one in kinds:
        if kind is one:
            return True
    return False


def length(value):
    """The length of an exact builtin."""
    if _is_one_of(type(value), _SIZED):
        return len(value)
    raise Unreadable("LengthNotRead")
