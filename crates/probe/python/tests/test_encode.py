"""Encoding and reading run no code of the program, keep nothing, and respect their limits."""

import collections
import enum
import gc
import sys
import types
import unittest
import weakref
from unittest import mock

import support  # noqa: F401
from bystander_overlay import capture, encode, reading, secret

ENTRIES = collections.Counter()


def entered(name):
    """Counts an entry into code of the program."""
    ENTRIES[name] += 1


class Meta(type):
    def __repr__(cls):
        entered("Meta.__repr__")
        return "M"

    def __getattribute__(cls, name):
        entered("Meta.__getattribute__")
        return type.__getattribute__(cls, name)

    def __eq__(cls, other):
        entered("Meta.__eq__")
        return False

    def __hash__(cls):
        entered("Meta.__hash__")
        return 1

    def __instancecheck__(cls, other):
        entered("Meta.__instancecheck__")
        return True

    @property
    def __name__(cls):
        entered("Meta.__name__")
        return "?"


class WithMeta(metaclass=Meta):
    pass


def counting(base, *methods):
    """Makes a class whose every method counts its entries."""

    def method(name):
        def enter(self, *args):
            entered(name)
            return getattr(base, name)(self, *args)

        return enter

    return type("Counting" + base.__name__.title(), (base,), {name: method(name) for name in methods})


class Raises:
    def __repr__(self):
        entered("__repr__")
        raise SystemExit("boom")

    __str__ = __bytes__ = __len__ = __bool__ = __iter__ = __hash__ = __index__ = __float__ = __repr__


class GetAttr:
    def __getattr__(self, name):
        entered("__getattr__")
        raise AttributeError(name)


class GetAttribute:
    def __getattribute__(self, name):
        entered("__getattribute__")
        return object.__getattribute__(self, name)


class FakeClass:
    @property
    def __class__(self):
        entered("__class__")
        return int


class FakeDict:
    @property
    def __dict__(self):
        entered("__dict__")
        return {}


class Property:
    @property
    def x(self):
        entered("property")
        return 1


class Descriptor:
    class Data:
        def __get__(self, owner, kind):
            entered("__get__")
            return 1

        def __set__(self, owner, value):
            entered("__set__")

    class Plain:
        def __get__(self, owner, kind):
            entered("plain __get__")
            return 1

    x = Data()
    plain = Plain()


class Slots:
    __slots__ = ("x", "empty")

    def __init__(self):
        self.x = 1


class Key:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        entered("__hash__")
        return hash(self.value)

    def __eq__(self, other):
        entered("__eq__")
        return True

    def __repr__(self):
        entered("Key.__repr__")
        return "K"


class Missing(dict):
    def __missing__(self, key):
        entered("__missing__")
        return 1


class Buffer:
    def __buffer__(self, flags):
        entered("__buffer__")
        return memoryview(b"x")


def generator():
    entered("generator")
    yield 1


class Failing(Exception):
    def __str__(self):
        entered("exception.__str__")
        return "E"

    __repr__ = __str__


def hostile():
    """Objects that count every entry into their own code."""
    listed = counting(list, "__iter__", "__len__", "__repr__", "__getitem__", "__eq__")
    mapped = counting(dict, "items", "keys", "__iter__", "__len__", "__repr__", "__getitem__", "get")
    whole = counting(int, "__repr__", "__str__", "__index__", "__eq__", "__hash__", "bit_length", "__int__")
    real = counting(float, "__repr__", "__float__", "__eq__", "__format__")
    text = counting(str, "__repr__", "__str__", "__len__", "__getitem__", "__eq__", "__hash__")
    pair = counting(tuple, "__iter__", "__len__", "__getitem__", "__repr__")
    return [
        Raises(), GetAttr(), GetAttribute(), FakeClass(), FakeDict(), Property(), Descriptor(), Slots(), listed([1, 2]), mapped(a=1),
        whole(3), real(0.5), text("x"), pair((1, 2)), WithMeta(), WithMeta, {Key("x"): 1}, Failing("e"), generator(),
        mock.MagicMock(name="m"), [Raises()], {"x": Raises()}, (Key(1), Key(2)), collections.defaultdict(list, a=1), Missing(a=1), Buffer(),
        {Key(1)}, collections.OrderedDict(a=Key(1)),
    ]  # fmt: skip


EXPRESSIONS = ["v", "v.x", "v.plain", "v.__dict__", "v['x']", "v[1]", "v[0]", "len(v)", "not v", "v and 1", "v == 1", "v + 1", "v < v", "-v"]


class HostileObjects(unittest.TestCase):
    def setUp(self):
        ENTRIES.clear()

    def test_no_expression_enters_code_of_the_program(self):
        objects = hostile()
        self.assertGreaterEqual(len(objects), 21)
        ENTRIES.clear()
        for value in objects:
            children = len(value._mock_children) if type(value).__name__ == "MagicMock" else None
            before = dict(ENTRIES)
            for text in EXPRESSIONS:
                evaluate = capture.compiled(capture.parse(text), {"v": 0})
                try:
                    shown = encode.encode(evaluate((value,)))
                except reading.Unreadable:
                    continue
                except (TypeError, IndexError, ZeroDivisionError):
                    continue
                self.assertIsNotNone(shown)
            kind = type(value)
            self.assertEqual(dict(ENTRIES), before, "%s, %s" % (reading.type_name(kind), ENTRIES))
            if children is not None:
                self.assertEqual(len(value._mock_children), children)

    def test_the_counters_do_count(self):
        for use in (lambda: repr(WithMeta), lambda: Property().x, lambda: bool(Raises())):
            with self.assertRaises((SystemExit, AssertionError)):
                use()
                self.assertFalse(ENTRIES)
            ENTRIES.clear()

    def test_nothing_is_kept_alive(self):
        class Plain:
            pass

        value = Plain()
        watch = weakref.ref(value)
        shown = [encode.encode(item) for item in (value, [value], {"k": value}, (value, [value]))]
        del value
        gc.collect()
        self.assertIsNone(watch())
        self.assertEqual(len(shown), 4)


class Limits(unittest.TestCase):
    def test_scalars_are_themselves(self):
        for value in (None, True, 0, -5, 1 << 70, 1.5, "text", "x" * 200):
            self.assertIs(encode.encode(value), value)

    def test_long_values_are_cut_and_say_so(self):
        self.assertEqual(encode.encode("x" * 201), {"type": "str", "len": 201, "text": "x" * 200, "truncated": True})
        shown = encode.encode(list(range(100)))
        self.assertEqual((shown["len"], shown["items"], shown["truncated"]), (100, list(range(8)), True))
        shown = encode.encode({index: index for index in range(9)})
        self.assertEqual((shown["len"], len(shown["entries"]), shown["truncated"]), (9, 8, True))
        self.assertEqual(encode.encode(b"a" * 300)["len"], 300)
        self.assertTrue(encode.encode(1 << 100000)["truncated"])

    def test_depth_is_limited(self):
        value = [1]
        for _ in range(50):
            value = [value]
        self.assertEqual(encode.encode(value), {"type": "list", "len": 1, "items": [{"type": "list", "len": 1, "items": [{"type": "list", "len": 1}]}]})

    def test_a_value_that_contains_itself_ends(self):
        value = []
        value.append(value)
        self.assertEqual(encode.encode(value)["len"], 1)

    def test_subclasses_of_plain_types_show_their_plain_content(self):
        class Colour(enum.Enum):
            RED = 1

        class Level(enum.IntEnum):
            HIGH = 3

        class Real(float):
            pass

        self.assertEqual(encode.encode(Colour.RED)["text"], "RED")
        self.assertEqual(encode.encode(Level.HIGH)["text"], "HIGH")
        self.assertEqual(encode.encode(Real(0.5))["text"], "0.5")

    def test_secret_entries_of_a_dict_are_withheld(self):
        shown = encode.encode({"api_key": "abc", "user": "me", "nested": {"password": "x"}})
        self.assertEqual(shown["entries"]["api_key"], {"redacted": True})
        self.assertEqual(shown["entries"]["user"], "me")
        self.assertEqual(shown["entries"]["nested"]["entries"]["password"], {"redacted": True})


class Reading(unittest.TestCase):
    def read(self, text, value):
        return capture.compiled(capture.parse(text), {"v": 0})((value,))

    def test_stored_values_are_read(self):
        class Base:
            default = 7

        class Owner(Base):
            __slots__ = ("slot",)

            def __init__(self):
                self.slot = [1, 2]
                self.plain = {"a": {"b": 3}, 5: "five"}

        owner = Owner()
        for text, expected in [
            ("v.slot[1]", 2), ("v.slot[-1]", 2), ("v.plain['a']['b']", 3), ("v.plain[5]", "five"), ("v.default", 7), ("len(v.slot) * 2", 4),
            ("v.default > 3 and v.slot[0]", 1), ("v.slot is None", False), ("1 < v.default <= 7", True), ("-v.default / 2", -3.5),
        ]:  # fmt: skip
            self.assertEqual(self.read(text, owner), expected, text)

    def test_modules_and_classes_are_read(self):
        self.assertEqual(self.read("v.DEPTH", encode), 2)
        self.assertEqual(self.read("v.TEST", type("Kind", (), {"TEST": 4})), 4)

    def test_what_would_run_code_says_why(self):
        for text, value, word in [
            ("v.x", Property(), "PropertyNotRead"), ("v.x", Descriptor(), "PropertyNotRead"), ("v.plain", Descriptor(), "DescriptorNotRead"),
            ("v.empty", Slots(), "AttributeError"), ("v.nothing", Slots(), "AttributeError"), ("v['x']", Missing(), "ItemNotRead"),
            ("len(v)", Missing(), "LengthNotRead"), ("v + 1", Missing(), "NotANumber"), ("v == 1", Missing(), "NotAPlainValue"),
            ("v['x']", {}, "KeyError"), ("v.x", GetAttr(), "AttributeError"), ("v['x']", {Key("x"): 1, 2: 3}, "KeyNotComparable"),
        ]:  # fmt: skip
            with self.assertRaises((reading.Unreadable, AttributeError)) as caught:
                self.read(text, value)
            self.assertEqual(getattr(caught.exception, "word", "AttributeError"), word, text)

    def test_keys_of_built_in_types_are_their_text(self):
        keys = [None, (1, "a"), (), ((1.5, None), b"x"), b"it's", True, -0.0, "s"]
        shown = encode.encode({key: number for number, key in enumerate(keys)})
        self.assertEqual(list(shown["entries"]), [repr(key) for key in keys[:-1]] + ["s"])
        self.assertNotIn("truncated", shown)

    def test_keys_that_are_not_asked_end_what_is_shown(self):
        class Told:
            def __repr__(self):
                raise SystemExit("code of the program")

        class Int(int):
            __repr__ = Told.__repr__

        for key in ((Told(),), ((1, Told()),), (Int(1),), (((1,),),), tuple(range(9)), ("x" * 201,), b"x" * 201, 1 << 5000, (1 << 5000,), Int(1)):
            shown = encode.encode({"first": 1, key: 2, "last": 3})
            self.assertEqual((list(shown["entries"]), shown["len"], shown["truncated"]), (["first"], 3, True))

    def test_a_secret_in_a_key_that_is_cut_is_found(self):
        shown = encode.encode({("k" * 60, "api_key"): 1, ("user", "x"): 2, b"password": 3})
        self.assertEqual(list(shown["entries"].values()), [{"redacted": True}, 2, {"redacted": True}])
        self.assertEqual([len(key) for key in shown["entries"]], [50, 13, 11])

    def test_numbers_are_one_key_whatever_their_type(self):
        for text, value, expected in [
            ("v[1]", {True: 5}, 5), ("v[True]", {1: 6}, 6), ("v[1.0]", {1: 7}, 7), ("v[0]", {-0.0: 8}, 8), ("v['x']", {Key("y"): 1, "x": 9}, 9),
        ]:  # fmt: skip
            self.assertEqual(self.read(text, value), expected, text)

    def test_an_instance_that_shadows_a_plain_descriptor_is_read(self):
        owner = Descriptor()
        owner.__dict__["plain"] = 9
        self.assertEqual(self.read("v.plain", owner), 9)


class Torch(unittest.TestCase):
    """A stand-in for torch: metadata is read under its guard, and modules keep what their `__getattr__` would find in dicts."""

    def setUp(self):
        test = self
        self.guarded = False

        class Guard:
            def __enter__(self):
                test.guarded = True

            def __exit__(self, *error):
                test.guarded = False

        class Tensor:
            dtype, device = "torch.float16", "cpu"

            @property
            def shape(self):
                test.assertTrue(test.guarded)
                return (2, 3)

        class Parameter(Tensor):
            pass

        torch = types.ModuleType("torch")
        torch.Tensor, torch.nn, torch._C = Tensor, types.ModuleType("nn"), types.ModuleType("_C")
        torch.nn.Parameter, torch._C.DisableTorchFunction = Parameter, Guard
        self.torch = torch
        patch = mock.patch.dict(sys.modules, torch=torch)
        patch.start()
        self.addCleanup(patch.stop)

    def test_exact_tensors_show_their_metadata_and_subclasses_their_type(self):
        shown = encode.encode(self.torch.nn.Parameter())
        self.assertEqual((shown["shape"], shown["dtype"], shown["device"]), ([2, 3], "torch.float16", "cpu"))
        self.assertNotIn("shape", encode.encode(type("Mine", (self.torch.Tensor,), {})()))

    def test_parameters_of_a_module_are_found_without_its_getattr(self):
        class Module:
            def __init__(self):
                self.__dict__["_parameters"] = {"weight": 5}
                self.__dict__["_modules"] = collections.OrderedDict(layer=6)

            def __getattr__(self, name):
                raise AssertionError

        evaluate = capture.compiled(capture.parse("v.weight + v.layer"), {"v": 0})
        self.assertEqual(evaluate((Module(),)), 11)


class Whitelist(unittest.TestCase):
    def test_what_may_run_code_is_refused_with_its_place(self):
        for text, offset in [
            ("f(x)", 0), ("a + f(x)", 4), ("len(a, b)", 0), ("len(*a)", 0), ("[x for x in y]", 0), ("lambda: 0", 0), ("a in b", 0),
            ("a[b]", 0), ("a[1:2]", 0), ("f'{a}'", 0), ("a ** b", 0), ("a @ b", 0), ("~a", 0), ("{1: 2}", 0), ("[1]", 0),
            ("x.y.z()", 0), ("a if b else c", 0), ("(y := 1)", 1), ("a.b.append", None),
        ]:  # fmt: skip
            names = {name: 0 for name in "abcxyf"}
            if offset is None:
                capture.compiled(capture.parse(text), names)
                continue
            with self.assertRaises(capture.Refusal, msg=text) as caught:
                capture.compiled(capture.parse(text), names)
            self.assertEqual(caught.exception.offset, offset, text)

    def test_what_does_not_parse_is_refused_with_its_place(self):
        with self.assertRaises(capture.Refusal) as caught:
            capture.parse("a +")
        self.assertIn("not an expression", caught.exception.reason)


class Secrets(unittest.TestCase):
    def test_names_of_credentials_are_secret(self):
        for name in (
            "password DB_PASSWORD apiKey api_key API_KEY secret clientSecret access_token authToken hf_token AWS_SECRET_ACCESS_KEY "
            "credentials auth private_key Authorization session_token SSH_KEY openai_api_key"
        ).split():
            self.assertEqual(secret.secrecy(name), secret.ALWAYS, name)

    def test_counts_of_tokens_are_not(self):
        for name in (
            "max_total_num_tokens token_to_kv_pool num_tokens tokenizer tokens token_ids next_token_logits key keys kv_cache key_cache "
            "author monkey keyboard num_key_value_heads max_tokens bos_token_id token_usage key_states secretary passes"
        ).split():
            self.assertEqual(secret.secrecy(name), secret.NEVER, name)

    def test_a_token_is_secret_where_it_is_text(self):
        self.assertEqual(secret.secrecy("token"), secret.TEXT_ONLY)


if __name__ == "__main__":
    unittest.main()
