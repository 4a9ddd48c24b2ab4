"""The checks before a launch: names in inserted lines, nearest candidates, modules found without running them."""

import os
import sys
import unittest

import support
from bystander_check import inserted, locate
from bystander_overlay import place

BASE = '''import os
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import typed
try:
    import fast
except ImportError:
    fast = None
CONSTANT = 1
def set_later():
    global made
    made = 1
def helper():
    return late_function()
def late_function():
    return 1
class Runner:
    limit = 3
    def profile(self, total, *rest, **more):
        before = total
        if total:
            maybe = 1
        for step in range(2):
            looped = step
            # here
        def inner():
            return before
        with open(os.devnull) as handle:
            pass
        try:
            pass
        except ValueError as error:
            pass
        after = 1
        return after
'''


def judge(text, base=BASE, marker="# here"):
    """Inserts lines where the marker stands and returns `(name, problem, later)` for each problem."""
    lines = base.split("\n")
    at = next(index for index, line in enumerate(lines) if marker in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    added = [indent + line for line in text.split("\n")]
    source = "\n".join(lines[:at] + added + lines[at + 1 :]).encode()
    request = {"source": list(source), "first": at + 1, "last": at + len(added)}
    return inserted.problems(request)


class Inserted(unittest.TestCase):
    def kinds(self, text, **more):
        return [(item.get("name"), item["problem"]) for item in judge(text, **more)]

    def test_names_that_exist_are_fine(self):
        for text in (
            "import logging as _logging\n_logging.warning(f'{before:.3f} {total}')", "print(self.x, rest, more, step, looped)", "print(os, CONSTANT, fast, helper, Runner)",
            "x = [n for n in rest if n]\nprint(x)", "print((lambda q: q + total)(1))", "print(__name__, __file__, __class__)", "if (m := total):\n    print(m)",
            "for k, (v, w) in more.items():\n    print(k, v, w)", "try:\n    pass\nexcept ValueError as problem:\n    print(problem)", "def local(a, b=total):\n    return a + b\nlocal(1)",
            "with open(before) as f, open(f) as g:\n    print(g)", "print({**more}, late_function())", "class Local:\n    y = total\n    z = y", "global CONSTANT2\nCONSTANT2 = 1\n",
        ):  # fmt: skip
            self.assertEqual(self.kinds(text), [], text)

    def test_names_that_surely_have_no_value_are_undefined(self):
        for text, name in [
            ("print(undefined_here)", "undefined_here"), ("logging.warning(total)", "logging"), ("x = f'{missing!r}'", "missing"), ("print(handle)", "handle"), ("print(after)", "after"),
            ("print(error)", "error"), ("print(inner)", "inner"), ("print(limit)", "limit"), ("[q for q in nowhere]", "nowhere"), ("own = own + 1", "own"),
        ]:  # fmt: skip
            found = judge(text)
            self.assertEqual([(item["name"], item["problem"]) for item in found], [(name, "undefined")], text)
            self.assertEqual((found[0]["inserted_line"], found[0]["scope"]), (1, "Runner.profile"))

    def test_names_that_only_the_program_can_know_are_maybes(self):
        for text, name in [("print(maybe)", "maybe"), ("print(made)", "made"), ("print(typed)", "typed")]:
            self.assertEqual(self.kinds(text), [(name, "maybe_undefined")], text)
        self.assertEqual(self.kinds("print(anything)", base="from os.path import *\n" + BASE), [("anything", "maybe_undefined")])
        self.assertEqual(self.kinds("print(anything)", base=BASE + "globals()['anything'] = 1\n"), [("anything", "maybe_undefined")])

    def test_near_names_are_offered_and_later_ones_say_so(self):
        found = judge("print(totl, after)")
        self.assertEqual(found[0]["candidates"][0], "total")
        self.assertEqual([item["later"] for item in found], [False, True])

    def test_text_that_does_not_parse_says_where_in_the_text(self):
        found = judge("x = 1\nprint(total")[0]
        self.assertEqual(found["problem"], "syntax")
        found = judge("x = 1\nfor for\ny = 2")[0]
        self.assertEqual((found["inserted_line"], bool(found["message"])), (2, True))
        self.assertEqual(judge("return 1\nx = (", base="# here\n")[0]["problem"], "syntax")
        self.assertEqual(judge("return 1", base="# here\n")[0]["problem"], "syntax")
        self.assertEqual(judge("continue", base="def f():\n    # here\n    pass\n")[0]["problem"], "syntax")


class Locate(support.RingCase):
    def setUp(self):
        super().setUp()
        path = list(sys.path)
        self.addCleanup(sys.path.__setitem__, slice(None), path)
        for name in ("pack", "pack/inner", "space"):
            os.mkdir(os.path.join(self.folder, name))
        for name in ("pack/__init__.py", "pack/inner/__init__.py", "pack/inner/leaf.py", "space/part.py"):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write("raise SystemExit('%s was run')\n" % name)
        locate.use_path([self.folder] + path)

    def test_modules_are_found_and_not_run(self):
        for name, end in [("pack", "pack/__init__.py"), ("pack.inner.leaf", "pack/inner/leaf.py"), ("space.part", "space/part.py"), ("json.decoder", "json/decoder.py")]:
            found = locate.source_of({"module": name, "path": None})
            self.assertTrue(found.endswith(end), found)
        self.assertNotIn("pack", sys.modules)

    def test_what_has_no_source_says_why(self):
        for name in ("sys", "space", "math"):
            with self.assertRaises(place.PlaceProblem) as caught:
                locate.source_of({"module": name, "path": None})
            self.assertEqual(caught.exception.kind, "no_source")

    def test_a_missing_module_names_the_nearest(self):
        with self.assertRaises(place.PlaceProblem) as caught:
            locate.source_of({"module": "pack.inner.leav", "path": None})
        self.assertEqual(caught.exception.facts["candidates"], ["pack.inner.leaf"])
        self.assertEqual(caught.exception.facts["missing"], "pack.inner.leav")


if __name__ == "__main__":
    unittest.main()
