"""No probe enters code of the program: objects of over forty hostile kinds, captured, judged, returned and raised."""

import contextlib
import io
import os
import unittest

from support import Probed, RingCase, counted, rings, spec

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "tests", "it", "programs", "hostile.py")
EXPRESSIONS = [
    "v", "v.x", "v.name", "v.shape", "v.__dict__", "v.__class__", "v.__doc__", "v['x']", "v[1]", "v[0]", "v[-1]", "v[True]", "v[0.5]", "v[None]", "v[b'x']",
    "len(v)", "not v", "v and 1", "v or 1", "v == 1", "v == 'x'", "1 != v", "v + 1", "1 + v", "v - v", "v * 2", "v / 2", "v // 2", "v % 2", "v < v", "v <= 1",
    "-v", "+v", "v is None", "v is not v", "v.x.y", "v.x['x']", "v['x'].x", "len(v.x)", "v['x'] == v[0]", "v.args", "v.dtype", "v.value", "v._name_", "1 < v < 3",
]  # fmt: skip
CONDITIONS = ["v == 1 or v", "v.x", "not v", "v['x'] and v[0]", "len(v) > 0", "v is not None", "-v < 1", "v.name == 'x' or v.shape"]


def chunks(items, size):
    """Splits a list."""
    return [items[start : start + size] for start in range(0, len(items), size)]


class Hostile(RingCase):
    def run_with(self, probes):
        """Runs the program with probes; returns the number of objects and what was counted."""
        with open(PROGRAM) as file:
            probed = Probed(self, file.read(), *[dict(probe, index=index) for index, probe in enumerate(probes)])
        self.assertIsNotNone(probed.code, probed.overlay.events)
        self.assertEqual([event[0] for event in probed.overlay.events], ["placed"] * len(probes), probed.overlay.events)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            probed.names["main"]()
        number, _, found = out.getvalue().partition(" ")
        return probed, int(number), found.strip()

    def test_no_capture_enters_code_of_the_program(self):
        for part in chunks(EXPRESSIONS, 8):
            probed, number, found = self.run_with([spec(part, function="look", after="w = 1", limit=10**6)])
            self.assertGreaterEqual(number, 50)
            self.assertEqual((found, counted(probed.rewriter.ring, rings.HITS)), ("[]", number), part)
            self.assertEqual(probed.rewriter.ring.words[rings.ERRORS], 0)

    def test_no_condition_enters_code_of_the_program(self):
        for text in CONDITIONS:
            probed, number, found = self.run_with([spec(["v"], function="look", condition=text, limit=10**6)])
            self.assertEqual((found, counted(probed.rewriter.ring, rings.PASSES)), ("[]", number), text)
            held, misjudged = (counted(probed.rewriter.ring, counter) for counter in (rings.HITS, rings.MISJUDGED))
            self.assertLessEqual(held + misjudged, number, text)
            self.assertEqual(len(probed.taken()), held, text)

    def test_nothing_that_is_returned_or_raised_enters_code_of_the_program(self):
        returned, raised = [text.replace("v", "return") for text in ("v", "v.x", "v['x']", "len(v)", "v == 1")], ["raise", "raise.args", "raise.x", "v"]
        for probes in (
            [spec(returned, function="give", moment="return"), spec(["return"], function="give_more", moment="return")],
            [spec(raised, function="fail", moment="raise")], [spec(["v"], function="fail", moment="raise", condition="raise is not None")],
        ):  # fmt: skip
            probed, number, found = self.run_with(probes)
            self.assertEqual(found, "[]")
            self.assertGreaterEqual(counted(probed.rewriter.ring, rings.HITS), 5)

    def test_exceptions_show_their_type_and_plain_text(self):
        probed, _, _ = self.run_with([spec(["raise"], function="fail", moment="raise")])
        shown = [values[0] for _, _, values in probed.taken()]
        self.assertEqual([value["type"] for value in shown], ["probed.Failing", "probed.FailingKey", "ValueError", "KeyError", "OSError"])
        self.assertEqual([value.get("text") for value in shown], ["told", "key", "told", None, None])


if __name__ == "__main__":
    unittest.main()
