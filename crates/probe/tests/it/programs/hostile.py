"""Objects that count every entry into their own code, and functions that are handed each of them; prints what was counted."""

import collections
import collections.abc
import ctypes
import dataclasses
import enum
import sys
import types
import weakref

ENTRIES = collections.Counter()
SPECIAL = (
    "__repr__ __str__ __bytes__ __format__ __len__ __bool__ __iter__ __next__ __hash__ __index__ __int__ __float__ __complex__ __eq__ __ne__ __lt__ __le__ "
    "__gt__ __ge__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __floordiv__ __mod__ __rmod__ __neg__ __pos__ __abs__ __invert__ "
    "__getitem__ __contains__ __call__ __enter__ __exit__ __reversed__ __sizeof__ __dir__ __reduce__ __length_hint__ __round__ __get__ __await__ "
    "__torch_function__ __array__ __array_interface__ __array_struct__ __cuda_array_interface__ __dlpack__ __fspath__ __buffer__ __copy__ __deepcopy__"
).split()


def entered(name):
    ENTRIES[name] += 1


def counting(name, base=object, methods=SPECIAL, more=None):
    """Makes a class that counts every entry into its methods, and raises there what no handler of an `Exception` catches."""

    def method(which):
        def enter(self, *args, **keywords):
            entered(name + "." + which)
            raise SystemExit(which)

        return enter

    members = {which: method(which) for which in methods}
    members.update(more or {})
    return type(name, (base,), members)


def property_of(name):
    def read(self):
        entered(name)
        raise SystemExit(name)

    return property(read)


class Meta(type):
    def __getattribute__(cls, name):
        entered("Meta.__getattribute__")
        return type.__getattribute__(cls, name)

    def __eq__(cls, other):
        entered("Meta.__eq__")
        return False

    def __hash__(cls):
        entered("Meta.__hash__")
        return 1

    def __repr__(cls):
        entered("Meta.__repr__")
        return "Meta"

    def __instancecheck__(cls, other):
        entered("Meta.__instancecheck__")
        return True

    def __subclasscheck__(cls, other):
        entered("Meta.__subclasscheck__")
        return True

    def __len__(cls):
        entered("Meta.__len__")
        return 1

    def __bool__(cls):
        entered("Meta.__bool__")
        return True

    def mro(cls):
        return type.mro(cls)

    __name__ = property_of("Meta.__name__")
    __module__ = property_of("Meta.__module__")


class GetAttr:
    def __getattr__(self, name):
        entered("__getattr__")
        raise AttributeError(name)


class GetAttribute:
    def __getattribute__(self, name):
        entered("__getattribute__")
        return object.__getattribute__(self, name)


class DataDescriptor:
    def __get__(self, owner, kind=None):
        entered("data __get__")
        return 1

    def __set__(self, owner, value):
        entered("data __set__")

    def __set_name__(self, owner, name):
        pass


class PlainDescriptor:
    def __get__(self, owner, kind=None):
        entered("plain __get__")
        return 1


class Described:
    x = DataDescriptor()
    shape = PlainDescriptor()
    name = classmethod(property_of("classmethod property").fget) if sys.version_info >= (3, 9) else PlainDescriptor()


class Slots:
    __slots__ = ("x", "__dict__")


class Lazy:
    """A proxy such as lazy imports and mocks are: everything that is asked of it is answered by code."""

    __class__ = property_of("Lazy.__class__")
    __dict__ = property_of("Lazy.__dict__")
    __module__ = property_of("Lazy.__module__")
    __doc__ = property_of("Lazy.__doc__")

    def __getattr__(self, name):
        entered("Lazy.__getattr__")
        return self


class Colour(enum.Enum):
    RED = 1
    name = property_of("Colour.name")
    value = property_of("Colour.value")

    def __repr__(self):
        entered("Colour.__repr__")
        return "Colour"

    __str__ = __format__ = __repr__


@dataclasses.dataclass(eq=False)
class Data:
    x: int = 1

    def __getattr__(self, name):
        entered("Data.__getattr__")
        raise AttributeError(name)

    def __repr__(self):
        entered("Data.__repr__")
        return "Data"


class Module(types.ModuleType):
    def __getattribute__(self, name):
        entered("Module.__getattribute__")
        return types.ModuleType.__getattribute__(self, name)


def module_with_getattr():
    module = types.ModuleType("made")

    def __getattr__(name):
        entered("module __getattr__")
        raise AttributeError(name)

    module.__getattr__ = __getattr__
    return module


class Key:
    """A key that is equal to everything, and says so itself."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        entered("Key.__hash__")
        return hash(self.value)

    def __eq__(self, other):
        entered("Key.__eq__")
        return True


class TextKey(str):
    def __hash__(self):
        entered("TextKey.__hash__")
        return str.__hash__(self)

    def __eq__(self, other):
        entered("TextKey.__eq__")
        return True

    def __repr__(self):
        entered("TextKey.__repr__")
        return "TextKey"


class Names(dict):
    def __getitem__(self, key):
        entered("Names.__getitem__")
        raise KeyError(key)

    get = items = keys = __iter__ = __contains__ = __missing__ = __len__ = __getitem__


class WithNames:
    def __init__(self):
        object.__setattr__(self, "__dict__", Names())


class FakeNames:
    __dict__ = property_of("FakeNames.__dict__")


class Failing(Exception):
    """An exception whose every part is code."""

    args = property_of("Failing.args")
    __cause__ = property_of("Failing.__cause__")
    __traceback__ = property_of("Failing.__traceback__")

    def __str__(self):
        entered("Failing.__str__")
        return "Failing"

    __repr__ = __reduce__ = __str__


class FailingKey(KeyError):
    def __getattribute__(self, name):
        entered("FailingKey.__getattribute__")
        return KeyError.__getattribute__(self, name)


class Deleted:
    def __del__(self):
        if LIVE:
            entered("__del__")


class Structure(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int)]

    def __getattr__(self, name):
        entered("Structure.__getattr__")
        raise AttributeError(name)

    def __repr__(self):
        entered("Structure.__repr__")
        return "Structure"


class Sized(collections.abc.Sequence):
    def __len__(self):
        entered("Sized.__len__")
        return 1

    def __getitem__(self, index):
        entered("Sized.__getitem__")
        return 1


Point = collections.namedtuple("Point", "x y")


class OwnPoint(Point):
    __slots__ = ()
    x = property_of("OwnPoint.x")

    def __iter__(self):
        entered("OwnPoint.__iter__")
        return iter(())

    __len__ = __getitem__ = __repr__ = __iter__


def generator():
    entered("generator")
    yield 1


async def coroutine():
    entered("coroutine")


async def async_generator():
    entered("async generator")
    yield 1


LIVE = True
TARGET = GetAttribute()


def things():
    """One object of each kind."""
    meta = Meta("WithMeta", (), {})
    comparing = ("__eq__", "__hash__", "__repr__", "__str__", "__len__", "__iter__", "__getitem__", "__bool__", "__index__", "__int__", "__float__")
    sub = {kind: counting("Own" + kind.__name__.title(), kind, comparing + more) for kind, more in (
        (int, ("bit_length", "__neg__", "__add__", "__lt__")), (float, ("is_integer", "__neg__", "__add__")), (str, ("encode", "__format__", "isidentifier")),
        (bytes, ("decode",)), (list, ("append", "copy")), (tuple, ("count",)), (set, ("copy",)), (frozenset, ("copy",)), (bytearray, ("decode",)),
        (complex, ("conjugate",)), (collections.OrderedDict, ("items", "keys", "values", "get")), (collections.deque, ("copy",)),
    )}  # fmt: skip
    found = [
        counting("Everything")(), meta(), meta, GetAttr(), GetAttribute(), Described(), Slots(), Lazy(), Colour.RED, Data(), Module("own"), module_with_getattr(),
        {Key("x"): 1, "x": Key("y")}, {TextKey("x"): 1}, {"token": Key("t"), "x": [Key(1)]}, WithNames(), FakeNames(), Failing("told"), FailingKey("key"),
        ValueError(Key("argument"), "told"), KeyError(TextKey("x")), OSError(Key("name"), 5), Deleted(), Structure(), Sized(), OwnPoint(1, 2), Point(Key(1), Key(2)),
        generator(), coroutine(), async_generator(), weakref.proxy(TARGET), weakref.ref(TARGET), types.MappingProxyType(Names(a=1)), Names(a=1),
        collections.defaultdict(lambda: entered("default factory"), a=1), collections.ChainMap(Names(a=1)), collections.UserDict(a=Key(1)),
        types.SimpleNamespace(x=Key(1)), property_of("bare property"), PlainDescriptor(), super(Data, Data()), memoryview(bytearray(b"x")), {Key(1), Key(2)},
        [counting("InList")()], (counting("InTuple")(),), iter([Key(1)]), range(3), lambda: entered("lambda"), GetAttribute().__init__, len,
    ]  # fmt: skip
    return found + [kind() for kind in sub.values()] + list(sub.values())[:2]


def look(v):
    w = 1
    return w


def give(v):
    return v


def give_more(v):
    return (
        v,
        v,
    )


def fail(v):
    raise v if isinstance(v, BaseException) else ValueError


def fail_quietly(v):
    try:
        fail(v)
    except BaseException:
        pass


def main():
    global LIVE
    errors = (Failing, FailingKey, ValueError, KeyError, OSError)
    every = things()
    ENTRIES.clear()
    counted = []
    for thing in every:
        look(thing)
        give(thing)
        give_more(thing)
        if any(type(thing) is kind for kind in errors):
            fail_quietly(thing)
        if ENTRIES:
            counted.append((object.__repr__(thing), dict(ENTRIES)))
            ENTRIES.clear()
    print(len(every), counted)
    LIVE = False
    for thing in every:
        if type(thing) is types.CoroutineType:
            thing.close()


if __name__ == "__main__":
    main()
