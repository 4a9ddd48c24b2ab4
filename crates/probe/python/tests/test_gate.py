"""What a hit must pass: the counters, the limit, the rate, the condition, and the price of `unsafe` expressions."""

import threading
import time
import unittest

from support import Probed, RingCase, counted, rings, spec
from bystander_overlay import capture, gate, inject, place, staging

SOURCE = """
SCALE = 2


class Holder:
    def __init__(self):
        self.left = 3
        self.__hidden = 4
        self.password = "p"

    def go(self, n):
        m = n
        return m


def f(n, more=None):
    if more:
        maybe = 1
    m = n + 1
    return m
"""


def counts(probed):
    """Passes, hits, passes turned away, misjudged conditions."""
    return [counted(probed.rewriter.ring, counter) for counter in (rings.PASSES, rings.HITS, rings.THROTTLED, rings.MISJUDGED)]


def recorded(probed):
    """The values of the hits."""
    return [values for _, _, values in probed.taken()]


class Conditions(RingCase):
    def probed(self, condition, **more):
        return Probed(self, SOURCE, spec(["n"], after="m = ...", condition=condition, **more))

    def test_only_what_holds_is_a_hit(self):
        probed = self.probed("n > 2 and n * SCALE != 8 or n == 0")
        for number in range(6):
            probed.names["f"](number)
        self.assertEqual((recorded(probed), counts(probed)), ([[0], [3], [5]], [6, 3, 0, 0]))

    def test_a_condition_is_not_looked_at_over_the_limit(self):
        probed = self.probed("n >= 0", limit=2)
        for number in range(5):
            probed.names["f"](number)
        self.assertEqual((recorded(probed), counts(probed)), ([[0], [1]], [5, 2, 0, 0]))

    def test_a_condition_that_raises_is_counted_and_stays(self):
        for condition in ("n.missing", "n / 0", "n < 'x'", "maybe == 1"):
            probed = self.probed(condition)
            probed.names["f"](1)
            probed.names["f"](2)
            self.assertEqual((recorded(probed), counts(probed)), ([], [2, 0, 0, 2]), condition)

    def test_returns_and_exceptions_are_judged(self):
        probed = Probed(self, SOURCE, spec(["return", "n"], moment="return", condition="return < 3"))
        for number in range(5):
            probed.names["f"](number)
        self.assertEqual((recorded(probed), counts(probed)), ([[1, 0], [2, 1]], [5, 2, 0, 0]))

    def test_words_stand_only_where_they_mean_something(self):
        for moment, text in ((None, "return"), ("return", "raise"), ("raise", "return"), ("entry", "raise")):
            probed = Probed(self, SOURCE, spec([text], moment=moment))
            self.assertIn("has a value only at", probed.overlay.events[0][2])

    def test_secrets_are_not_judged_and_private_names_are_found(self):
        for text in ("self.password == 'p'", "more['api_key']", "len(self.password) > 3"):
            with self.assertRaises(capture.Refusal, msg=text):
                capture.check_condition(capture.parse(text))
        capture.check_condition(capture.parse("self.password is not None"))
        probed = Probed(self, SOURCE, spec(["self.__hidden"], function="Holder.go", condition="self.__hidden == 4 and self.password is not None"))
        probed.names["Holder"]().go(1)
        self.assertEqual(recorded(probed), [[4]])


class Secrets(RingCase):
    def test_a_secret_name_anywhere_in_an_expression_withholds_it(self):
        withheld = {"redacted": True}
        texts = ["self.password", "len(self.password)", "self.password == 'p'", "self.password and 1", "self.left", "self.password is None"]
        probed = Probed(self, SOURCE, spec(texts, function="Holder.go"))
        probed.names["Holder"]().go(1)
        self.assertEqual(recorded(probed), [[withheld, withheld, withheld, withheld, 3, False]])
        probed = Probed(self, SOURCE, spec(["n['auth']['x']", "n['user']", "n"], function="Holder.go"))
        probed.names["Holder"]().go({"auth": {"x": 1}, "user": "me", "k" * 49 + "_api_key": "v"})
        values = recorded(probed)[0]
        self.assertEqual((values[0], values[1], list(values[2]["entries"].values())), (withheld, "me", [withheld, "me", withheld]))


class Rates(RingCase):
    def test_a_bucket_lets_a_second_through_and_turns_the_rest_away_uncounted_for_the_limit(self):
        probed = Probed(self, SOURCE, spec(["n"], after="m = ...", rate=0.001, limit=5))
        for number in range(50):
            probed.names["f"](number)
        self.assertEqual((recorded(probed), counts(probed)), ([[0]], [50, 50, 49, 0]))

    def test_only_what_holds_takes_a_token(self):
        probed = Probed(self, SOURCE, spec(["n"], after="m = ...", condition="n == 25", rate=1.0, limit=100))
        for number in range(30):
            probed.names["f"](number)
        self.assertEqual((recorded(probed), counts(probed)), ([[25]], [30, 1, 4, 0]))
        probed = Probed(self, SOURCE, spec(["n"], after="m = ...", condition="n.missing", rate=1.0))
        for number in range(5):
            probed.names["f"](number)
        self.assertEqual(counts(probed), [5, 0, 0, 5])

    def test_a_token_that_another_thread_took_meanwhile_is_gone(self):
        turned_away = []
        bucket = gate.Bucket(0.001, lambda: turned_away.append(1))
        self.assertEqual((bucket.has(), bucket.has(), bucket.take(), bucket.take(), bucket.has()), (True, True, True, False, False))
        self.assertEqual(len(turned_away), 2)

    def test_tokens_come_back_with_time(self):
        turned_away = []
        bucket = gate.Bucket(4.0, lambda: turned_away.append(1))
        clock = [10**12]
        real, gate.monotonic_ns = gate.monotonic_ns, lambda: clock[0]
        try:
            self.assertEqual([bucket.take() for _ in range(6)], [True] * 4 + [False] * 2)
            clock[0] += 250000000
            self.assertEqual([bucket.take() for _ in range(2)], [True, False])
            clock[0] += 10**10
            self.assertEqual([bucket.take() for _ in range(6)], [True] * 4 + [False] * 2)
        finally:
            gate.monotonic_ns = real
        self.assertEqual(len(turned_away), 5)

    def test_counters_stay_exact_under_threads(self):
        for more in ({"rate": 5.0}, {"condition": "n % 2 == 0"}, {"rate": 5.0, "condition": "n % 2 == 0"}, {}):
            probed = Probed(self, SOURCE, spec(["n", "maybe"], after="m = ...", limit=10**6, **more))

            def work():
                for number in range(1000):
                    probed.names["f"](number)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            passes, hits, turned_away, misjudged = counts(probed)
            self.assertEqual((passes, misjudged), (8000, 0), more)
            if "rate" in more and "condition" not in more:
                self.assertEqual(hits, 8000)
                self.assertGreaterEqual(turned_away, 7900)
            elif "condition" in more and "rate" not in more:
                self.assertEqual(hits, 4000)

    def test_a_module_that_is_loaded_again_goes_on_counting(self):
        probed = Probed(self, SOURCE, spec(["n"], after="m = ...", limit=3, condition="n >= 0"))
        for _ in range(2):
            exec(probed.rewriter._rewritten(SOURCE, "probed.py", 0, {"dont_inherit": True}), probed.names)
            for number in range(2):
                probed.names["f"](number)
        self.assertEqual((len(recorded(probed)), counts(probed)), (3, [4, 3, 0, 0]))


class Expenses(RingCase):
    def test_a_slow_expression_disables_its_probe_and_says_so(self):
        probed = Probed(self, SOURCE, spec(["slow()", "n"], after="m = ...", unsafe=True))
        calls = []
        clock = [0]
        real, staging.monotonic_ns = staging.monotonic_ns, lambda: clock[0]

        def slow():
            calls.append(1)
            clock[0] += 2 * staging.LONGEST_NS
            return 1

        probed.names["slow"] = slow
        try:
            for number in range(3):
                probed.names["f"](number)
        finally:
            staging.monotonic_ns = real
        self.assertEqual((len(calls), recorded(probed), counts(probed)[0]), (1, [[1, 0]], 3))
        self.assertEqual(probed.overlay.events[-1], ("disabled", 0, "too expensive: `slow()` took 200 ms"))

    def test_a_share_of_the_time_disables_too_once_it_adds_up(self):
        probed = Probed(self, SOURCE, spec(["slow()"], after="m = ...", unsafe=True))
        calls = []
        clock = [time.monotonic_ns()]
        real, staging.monotonic_ns = staging.monotonic_ns, lambda: clock[0]

        def slow():
            calls.append(1)
            clock[0] += staging.LONGEST_NS // 2

        probed.names["slow"] = slow
        try:
            for number in range(5):
                probed.names["f"](number)
        finally:
            staging.monotonic_ns = real
        self.assertEqual(len(calls), 3)
        self.assertIn("over a tenth of the time", probed.overlay.events[-1][2])

    def test_nothing_is_evaluated_that_does_not_pass_the_gate(self):
        probed = Probed(self, SOURCE, spec(["told()", "n"], after="m = ...", unsafe=True, limit=2, condition="n % 2 == 0"))
        calls = []
        probed.names["told"] = lambda: calls.append(1)
        for number in range(8):
            probed.names["f"](number)
        self.assertEqual((len(calls), recorded(probed), counts(probed)), (2, [[None, 0], [None, 2]], [8, 2, 0, 0]))

    def test_unsafe_expressions_see_what_is_returned_and_raised(self):
        probed = Probed(self, SOURCE, spec(["str(return) + '!'", "return"], moment="return", unsafe=True))
        probed.names["f"](1)
        self.assertEqual(recorded(probed), [["2!", 2]])
        probed = Probed(self, "def f(n):\n    m = n.x\n    return m\n", spec(["str(raise)", "m"], moment="raise", unsafe=True))
        with self.assertRaises(AttributeError) as caught:
            probed.names["f"](1)
        self.assertEqual(recorded(probed), [["'int' object has no attribute 'x'", {"error": "UnboundLocalError"}]])
        self.assertIsNone(caught.exception.__context__)


class Uncertain(RingCase):
    def test_names_without_a_value_are_told_at_every_end(self):
        source = "def f(n):\n    for i in range(n):\n        a = i\n        if i == 2:\n            b = i\n            break\n    else:\n        c = 1\n    return n\n"
        probed = Probed(self, source, spec(["return", "a", "b", "c", "i"], moment="return"))
        for number in (0, 1, 5):
            probed.names["f"](number)
        no = {"error": "NameError"}
        self.assertEqual(recorded(probed), [[0, no, no, 1, no], [1, 0, no, 1, 0], [5, 2, 2, no, 2]])

    def test_the_exception_is_told_whatever_has_no_value(self):
        source = "def f(n):\n    if n > 0:\n        a = 1\n    if n > 1:\n        b = 1\n    if n > 2:\n        c = 1\n    raise ValueError('told')\n"
        probed = Probed(self, source, spec(["raise", "a", "b", "c"], moment="raise"))
        for number in range(4):
            try:
                probed.names["f"](number)
            except ValueError as error:
                self.assertIsNone(error.__context__)
        shown = recorded(probed)
        self.assertEqual([values[0] for values in shown], [{"type": "ValueError", "text": "told"}] * 4)
        self.assertEqual([sum(value == 1 for value in values[1:]) for values in shown], [0, 1, 2, 3])

    def test_more_than_can_be_told_is_refused_with_the_reason(self):
        names = ["v%d" % number for number in range(7)]
        source = "def f(n):\n    if n:\n        %s = n\n    return n\n" % " = ".join(names)
        module = compile(source, "m.py", "exec", 0x400, True)
        with self.assertRaises(capture.Refusal) as caught:
            inject.Injection(spec(names, moment="return"), place.resolve(module, function="f", moment="return"))
        self.assertIn("7 of the captured names may have no value", caught.exception.reason)
        probed = Probed(self, source, spec(names[:6], moment="return"))
        probed.names["f"](0)
        self.assertEqual(recorded(probed), [[{"error": "NameError"}] * 6])


if __name__ == "__main__":
    unittest.main()
