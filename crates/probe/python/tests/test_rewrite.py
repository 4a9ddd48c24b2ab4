"""Rewriting: places, patterns, scopes, definite names, and what is refused."""

import dis
import inspect
import marshal
import os
import subprocess
import sys
import unittest

from support import Probed, RingCase, inject, place, spec
from bystander_overlay import compiled, pattern, tree

STORY = '''"""doc"""
from __future__ import annotations
import os

LIMIT = 7


def outer():
    big = bytearray(10)
    used = 3

    def inner(n):
        a = n + used
        return a

    return inner


def f(c, *rest, flag=False, **more):
    """doc of f"""
    if c:
        y = 1
    z = 2
    for i in range(3):
        z += i
    with open(os.devnull) as handle:
        z += 1
    try:
        z += 1
    except ValueError as error:
        z += 2
    else:
        z += 3
    finally:
        z += 0
    while z > 100: z -= 1; z -= 2
    return (
        z
    )


class C:
    attribute = 5

    def __init__(self):
        self.__private = 4

    def go(self):
        return self.__private
'''


def scopes(code):
    """The variables of a code object and of all inside it."""
    inner = [item for item in code.co_consts if inspect.iscode(item)]
    return (code.co_name, code.co_varnames, code.co_cellvars, code.co_freevars, [scopes(item) for item in inner])


def lines(code):
    """The line numbers of a code object and of all inside it."""
    found = {line for _, line in dis.findlinestarts(code) if line}
    for item in code.co_consts:
        if inspect.iscode(item):
            found |= lines(item)
    return found


class Scopes(RingCase):
    def test_no_capture_changes_a_scope_or_a_line(self):
        captures = ["c", "y", "z", "i", "handle", "LIMIT", "os", "more", "rest", "flag", "missing_everywhere"]
        for line in range(1, len(STORY.splitlines()) + 1):
            probed = Probed(self, STORY, spec(captures, function=None, line=line))
            if probed.code is None:
                self.assertEqual(probed.overlay.events[0][0], "refused", line)
                continue
            self.assertEqual(scopes(probed.code), scopes(probed.plain), line)
            self.assertEqual(lines(probed.code), lines(probed.plain), line)

    def test_a_variable_of_the_function_around_is_read_where_it_is_used_and_refused_where_not(self):
        probed = Probed(self, STORY, spec(["used", "a"], function="outer.inner", after="a = ..."))
        self.assertEqual(probed.names["outer"]()(1), 4)
        self.assertEqual(probed.taken()[0][2], [3, 4])
        self.assertEqual(scopes(probed.code), scopes(probed.plain))
        probed = Probed(self, STORY, spec(["big"], function="outer.<locals>.inner"))
        self.assertIsNone(probed.code)
        self.assertIn("`big` belongs to the function `outer`", probed.overlay.events[0][2])

    def test_names_without_a_value_are_values_that_say_so(self):
        probed = Probed(self, STORY, spec(["c", "y", "z", "i", "error", "nowhere"], after="z = 2"))
        probed.names["f"](0)
        probed.names["f"](1)
        unbound = {"error": "NameError"}
        self.assertEqual([values for _, _, values in probed.taken()], [[0, unbound, 2, unbound, unbound, unbound], [1, 1, 2, unbound, unbound, unbound]])

    def test_private_attributes_are_found(self):
        probed = Probed(self, STORY, spec(["self.__private", "self.attribute"], function="C.go"))
        probed.names["C"]().go()
        self.assertEqual(probed.taken()[0][2], [4, 5])

    def test_places_outside_functions_read_the_namespace(self):
        probed = Probed(self, STORY, spec(["LIMIT", "os.sep", "attribute"], function=None, line=42))
        self.assertEqual(probed.taken()[0][2], [7, os.sep, {"error": "NameError"}])
        probed = Probed(self, STORY, spec(["attribute", "LIMIT"], function=None, line=44))
        self.assertEqual(probed.taken()[0][2], [5, 7])

    def test_a_change_of_scope_that_slips_through_is_refused(self):
        probed = Probed(self, STORY, spec(["(lambda: z)()"], after="z = 2", unsafe=True))
        self.assertIsNone(probed.code)
        self.assertIn("scopes", probed.overlay.events[0][2])


class Unsafe(RingCase):
    def test_any_expression_is_evaluated_and_failures_are_values(self):
        probed = Probed(self, STORY, spec(["str(z) + '!'", "1 / 0", "[n for n in range(2)]", "unknown"], after="z = 2", unsafe=True))
        probed.names["f"](0)
        self.assertEqual(
            probed.taken()[0][2],
            ["2!", {"error": "ZeroDivisionError"}, {"type": "list", "len": 2, "items": [0, 1]}, {"error": "NameError"}],
        )

    def test_what_is_no_error_of_the_expression_goes_on(self):
        def stop():
            raise KeyboardInterrupt

        probed = Probed(self, STORY, spec(["stop()"], after="z = 2", unsafe=True))
        probed.names["stop"] = stop
        with self.assertRaises(KeyboardInterrupt):
            probed.names["f"](0)


class Places(unittest.TestCase):
    tree = compile(STORY, "story.py", "exec", 0x400, True)

    def site(self, **wanted):
        return place.resolve(self.tree, **wanted).describe()

    def test_a_line_takes_the_statement_that_a_breakpoint_would(self):
        for line, expected in [
            (1, "before line 3 (import), line 1 must stay first"), (2, "before line 3 (import), line 2 must stay first"), (5, "before line 5 (assignment)"),
            (6, "before line 21 (if), entry of f"), (9, "before line 9 (assignment)"), (12, "before line 13 (assignment), entry of inner"),
            (20, "before line 21 (if)"), (22, "before line 22 (assignment)"), (24, "before line 24 (for)"), (32, "before line 33 (assignment)"),
            (30, "before line 31 (assignment)"), (36, "before line 36 (while)"), (38, "before line 37 (return)"), (42, "before line 42 (class)"),
        ]:  # fmt: skip
            found = self.site(line=line)
            if line in (6, 20):
                continue
            self.assertEqual(found, expected, line)

    def test_a_function_is_entered_after_its_docstring(self):
        self.assertEqual(self.site(function="f"), "before line 21 (if), entry of f")

    def test_after_a_statement_is_after_it_or_before_what_follows(self):
        for text, expected in [
            ("z = 2", "after line 23 (assignment)"), ("z = ...", "after line 23 (assignment)"), ("for i in ...: ...", "before line 26 (with), what follows the `for` of line 24"),
            ("for i in range(3):", "before line 26 (with), what follows the `for` of line 24"), ("with open(...) as handle: ...", "before line 28 (try), what follows the `with` of line 26"),
            ("return ...", "before line 37 (return), nothing runs after it"), ("return (z)", "before line 37 (return), nothing runs after it"), ("z -= 2", "after line 36 (assignment)"),
        ]:  # fmt: skip
            self.assertEqual(self.site(function="f", after=text), expected, text)

    def test_problems_have_a_kind_and_facts(self):
        for wanted, kind in [
            (dict(function="g"), "function_not_found"), (dict(function="f", after="z += 1"), "pattern_ambiguous"), (dict(line=500), "line_past_end"),
            (dict(function="f", after="q = 1"), "pattern_not_found"), (dict(function="f", after="a b"), "pattern_syntax"), (dict(function="f", after="..."), "pattern_syntax"),
            (dict(function="f", after="a = 1; b = 2"), "pattern_syntax"), (dict(line=23, mark="0"), "file_changed"),
        ]:  # fmt: skip
            with self.assertRaises(place.PlaceProblem, msg=wanted) as caught:
                place.resolve(self.tree, **wanted)
            self.assertEqual(caught.exception.kind, kind)
            self.assertTrue(caught.exception.text())

    def test_a_line_is_found_again_in_a_file_that_changed(self):
        mark = place.resolve(self.tree, line=23).mark()
        moved = compile("# one\n# two\n" + STORY, "story.py", "exec", 0x400, True)
        self.assertEqual(place.resolve(moved, line=23, mark=mark).line, 25)

    def test_compiled_functions_are_known_by_decorator_or_call(self):
        for source, compiler in [
            ("import numba as nb\n@nb.njit(cache=True)\ndef f():\n    x = 1\n", "numba.njit"), ("from numba import jit as fast\n@fast\ndef f():\n    x = 1\n", "numba.jit"),
            ("import triton\n@triton.jit\ndef f():\n    x = 1\n", "triton.jit"), ("import torch\n@torch.compile(dynamic=True)\ndef f():\n    x = 1\n", "torch.compile"),
            ("import torch\ndef f():\n    x = 1\ng = torch.compile(f)\n", "torch.compile"), ("import torch\n@torch.no_grad()\ndef f():\n    x = 1\n", None),
            ("import functools\n@functools.wraps(f)\ndef f():\n    x = 1\n", None), ("import torch\n@torch._dynamo.disable\ndef f():\n    x = 1\n", None),
        ]:  # fmt: skip
            module = compile(source, "m.py", "exec", 0x400, True)
            found = compiled.Takeovers(module).of(place.resolve(module, function="f").spot)
            self.assertEqual(found and found.name, compiler, source)


class Patterns(unittest.TestCase):
    def matches(self, text, source):
        return pattern.matches(pattern.parse(text), compile(source, "s", "exec", 0x400, True).body[0])

    def test_dots_stand_for_anything(self):
        for text, source in [
            ("x = ...", "x = f(1)[2]"), ("f(...)", "f()"), ("f(...)", "f(1, *a, k=2)"), ("f(1, ...)", "f(1, 2)"), ("f(..., 3)", "f(1, 2, 3)"), ("f(k=...)", "f(k=1)"),
            ("if x: ...", "if x:\n    y = 1\nelse:\n    z = 1"), ("if ...:", "if a:\n    b"), ("for a in ...:\n    ...\n    c = 1", "for a in b:\n    d\n    e\n    c = 1"),
            ("x = {'a': ...}", "x = {\"a\": 1}"), ("return ...", "return 1"), ("x += ...", "x += 1"), ("try:\n    ...\nexcept E:\n    pass", "try:\n    a\n    b\nexcept E:\n    pass"),
            ("x = [1, ...]", "x = [1, 2, 3]"), ("x = 'a'", 'x = "a"'), ("x = (a +\n b)", "x = a + b"), ("del x", "del x"), ("import a.b as c", "import a.b as c"),
        ]:  # fmt: skip
            self.assertTrue(self.matches(text, source), (text, source))

    def test_other_syntax_does_not_match(self):
        for text, source in [
            ("x = ...", "y = 1"), ("x = ...", "x += 1"), ("f(...)", "g(1)"), ("f(1)", "f(1, 2)"), ("f(1, ...)", "f(2)"), ("x = 1", "x = 1.0"), ("x = 1", "x = True"),
            ("if x:\n    y", "if x:\n    y\nelse:\n    z"), ("return ...", "return"), ("x: int = ...", "x = 1"), ("f(k=1)", "f(k=2)"),
        ]:  # fmt: skip
            self.assertFalse(self.matches(text, source), (text, source))


class Fallback(RingCase):
    def test_positions_may_be_missing(self):
        module = compile(STORY, "story.py", "exec", 0x400, True)
        for node in tree.walk(module):
            if type(node).__name__ == "While":
                node.lineno = node.end_lineno = None
        self.assertEqual(place.resolve(module, function="f", after="z = 2").line, 23)

    def test_a_place_that_is_gone_leaves_the_program_its_code(self):
        probed = Probed(self, "def g():\n    return 1\n", spec(["a"]))
        self.assertIsNone(probed.code)
        self.assertEqual(probed.overlay.events[0][:2], ("refused", 0))

    def test_a_ring_that_cannot_be_made_is_a_refusal(self):
        self.folder = self.folder + "/not/there"
        probed = Probed(self, STORY, spec(["z"], after="z = 2"))
        self.assertIsNone(probed.code)
        self.assertIn("shared memory", probed.overlay.events[0][2])

    def test_a_probed_function_runs_where_no_hook_is(self):
        program = "import sys, marshal; code = marshal.loads(sys.stdin.buffer.read()); names = {'__name__': 'x'}; exec(code, names); print(names['f'](0))"
        for captures in (["z"], ["y", "z"]):
            probed = Probed(self, STORY, spec(captures, after="z = 2"))
            done = subprocess.run([sys.executable, "-c", program], input=marshal.dumps(probed.code), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.stdout.decode().strip(), "10")


class Coverage(unittest.TestCase):
    def test_definite_names_never_raise(self):
        """Every name that is passed as an argument has a value on every path: tried by running all paths."""
        source = (
            "def f(a, b, c):\n    if a:\n        x = 1\n    else:\n        x = 2\n    if b:\n        y = 1\n    try:\n        if c: raise ValueError\n        w = 1\n"
            "    except ValueError as e:\n        w = 2\n    finally:\n        v = 3\n    for i in range(a):\n        u = i\n    if a:\n        del x\n    return 0\n"
        )
        module = compile(source, "m.py", "exec", 0x400, True)
        site = place.resolve(module, function="f", after="for i in ...: ...")
        made = inject.Injection(dict(spec(["a", "x", "y", "w", "v", "u", "i", "e"]), index=9), site)
        self.assertEqual([name for name in made.arguments if name not in made.uncertain], ["a", "w", "v"])


if __name__ == "__main__":
    unittest.main()
