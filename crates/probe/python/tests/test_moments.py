"""Returns and exceptions: a function that is probed where it is left behaves as without a probe, in all that a tracer can see."""

import sys
import types
import unittest

from programs_of_moments import ARGUMENTS, MATCH, SOURCE
from support import Probed, RingCase, spec
from bystander_overlay import place, statement, tree

TEXT = SOURCE + (MATCH if sys.version_info >= (3, 10) else "")
MODULE = compile(TEXT, "probed.py", "exec", 0x400, True)


DEFINED = {name: node.lineno for name, node in place.scopes_in(MODULE)}


def functions():
    """The dotted names of the functions that are tried, in the order of the text."""
    return [name for name, node in place.scopes_in(MODULE) if isinstance(node, tree.FUNCTIONS) and name.count(".") <= name.startswith("C.")]


def found(names, dotted):
    """A function or method of an executed module, ready to be called; a property as a function without arguments."""
    if not dotted.startswith("C."):
        return names[dotted]
    owner = names["C"]()
    if dotted == "C.value":
        return lambda: owner.value
    return getattr(owner, dotted[2:])


def chain(error):
    """An exception as a traceback shows it: type, arguments, lines, and what it happened during or was caused by."""
    if error is None:
        return None
    trace, lines = error.__traceback__, []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "probed.py":
            lines.append((trace.tb_frame.f_code.co_name, trace.tb_lineno))
        trace = trace.tb_next
    return type(error).__name__, error.args, lines, chain(error.__cause__), chain(error.__context__), error.__suppress_context__


def outcome(call, *args):
    """What a call gives or raises."""
    try:
        return shown(call(*args))
    except BaseException as error:
        return chain(error)


def shown(value):
    """A value without its address."""
    plain = value is None or isinstance(value, (int, str, list, tuple))
    return value if plain else type(value).__name__


def driven(value):
    """Runs what a call gave to its end, in the ways in which it can be run."""
    if isinstance(value, types.GeneratorType):
        return [outcome(next, value), outcome(value.send, 0), outcome(next, value), outcome(value.close)]
    if isinstance(value, types.CoroutineType):
        return [outcome(value.send, None)]
    if isinstance(value, types.AsyncGeneratorType):
        return [outcome(value.__anext__().send, None), outcome(value.__anext__().send, None), outcome(value.aclose().send, None)]
    return []


def interrupted(value):
    """Ends what a call gave in its middle."""
    if isinstance(value, types.GeneratorType):
        return [outcome(next, value), outcome(value.throw, KeyError("thrown")), outcome(value.close)]
    if isinstance(value, types.AsyncGeneratorType):
        return [outcome(value.__anext__().send, None), outcome(value.aclose().send, None)]
    return [outcome(value.close)] if hasattr(value, "close") else []


def run(names, dotted):
    """Everything that can be seen of a function's calls: results, exceptions, and the events of a tracer with their lines."""
    seen = []

    def tracer(frame, event, argument):
        if frame.f_code.co_filename == "probed.py":
            local = sorted(name for name in frame.f_locals if name != statement.HIDDEN) if event == "return" else None
            seen.append((event, frame.f_code.co_name, frame.f_lineno, shown(argument) if event == "return" else None, local))
            return tracer
        return None

    for args in ARGUMENTS.get(dotted, [(0,), (1,), (2,), (3,)] if dotted != "C.value" else [()]):
        for drive in (driven, interrupted):
            call = found(names, dotted)
            sys.settrace(tracer)
            try:
                value = call(*args)
                seen.append(("left", shown(value)))
                seen += [("driven", item) for item in drive(value)]
            except BaseException as error:
                seen.append(("left", chain(error)))
            finally:
                sys.settrace(None)
    return seen


def known_to_differ(seen, dotted, moment):
    """Leaves out of what is seen what is known to differ, and where."""
    version = sys.version_info[:2]
    if moment == "raise":
        # The line of a frame that an exception leaves is that of the `raise` in it, which has none: seen in `return` events alone.
        seen = [item[:2] + (None,) + item[3:] if item[0] == "return" and item[3] is None else item for item in seen]
    if moment == "raise" and version == (3, 9):
        # 3.9 tells of a line whenever an exception is caught: that of the `def`, where no other code is.
        seen = [item for item in seen if not (item[0] == "line" and item[2] == DEFINED[dotted])]
    if (version, dotted) in (((3, 10), "with_lines"), ((3, 12), "with_end")):
        # The way out of a `with` at the end of a function, at one line twice: of several lines on 3.10, with an exception swallowed on 3.12.
        seen = [item for index, item in enumerate(seen) if not (index and seen[index - 1] == item and item[0] == "line")]
    return seen


def leaves(seen):
    """What functions without a `yield` gave back or raised, one entry a call."""
    return [item[1] for item in seen if item[0] == "left"]


class Moments(RingCase):
    def compare(self, dotted, moment, *more):
        probed = Probed(self, TEXT, spec([moment], function=dotted, moment=moment, limit=200), *more)
        self.assertIsNotNone(probed.code, (dotted, probed.overlay.events))
        plain = {"__name__": "probed"}
        exec(probed.plain, plain)
        expected, seen = [known_to_differ(run(names, dotted), dotted, moment) for names in (plain, probed.names)]
        for one, two in zip(expected, seen):
            self.assertEqual(one, two, (dotted, expected, seen))
        self.assertEqual(len(expected), len(seen), dotted)
        return probed, leaves(seen)

    def test_returns_change_nothing_and_are_all_seen(self):
        for dotted in functions():
            with self.subTest(dotted):
                if dotted in NEVER_RETURN:
                    probed = Probed(self, TEXT, spec(["return"], function=dotted, moment="return"))
                    self.assertEqual(probed.overlay.events, [("refused", 0, probed.overlay.events[0][2])])
                    self.assertIn("never returns", probed.overlay.events[0][2])
                    continue
                probed, left = self.compare(dotted, "return")
                values = [item for item in left if not (type(item) is tuple and len(item) == 6)]
                if dotted not in SEVERAL_LIVES:
                    taken = [value for _, _, (value,) in probed.taken()]
                    self.assertEqual([self.plain(value) for value in taken if dotted != "recursive"], [value for value in values if dotted != "recursive"])

    def plain(self, value):
        """A captured value as the caller shows it."""
        if type(value) is dict:
            items = value.get("items")
            return value["type"] if items is None else (tuple if value["type"] == "tuple" else list)(items)
        return list(value) if type(value) is list else value

    def test_exceptions_change_nothing_and_are_all_seen(self):
        for dotted in functions():
            if dotted == "constant_below" and sys.version_info < (3, 10):
                continue  # The line of a constant below its `return` comes once more there: leaving a `try` has the line of the `return`.
            with self.subTest(dotted):
                probed, left = self.compare(dotted, "raise")
                raised = [item[0] for item in left if type(item) is tuple and len(item) == 6]
                if dotted not in SEVERAL_LIVES and dotted != "docstring":
                    self.assertEqual([value["type"] for _, _, (value,) in probed.taken()], raised)

    def test_names_without_a_value_change_nothing(self):
        source = "def f(a):\n    for i in range(a):\n        x = i\n        if i > 1:\n            y = x\n    z = 1\n    return z\n\n\ndef g(a):\n    if a:\n        x = 1\n        if a > 1:\n            y = 2\n"
        for names in (["i"], ["i", "x"], ["y", "i", "a"], ["x", "y", "i", "z"]):
            for probe in (spec(names, after="for i in ...: ..."), spec(names, after="z = 1"), spec(names, moment="return"), spec(names, moment="raise")):
                for argument in (0, 1, 3):
                    self.events_of(source, "f", dict(probe, limit=200), argument)
            for argument in (0, 1, 3):
                self.events_of(source, "g", spec([name for name in names if name not in "iz"], function="g", moment="return", limit=200), argument)

    def events_of(self, source, function, probe, argument):
        """Compares the events of a call with and without a probe; a name without a value is one more exception, caught on its line."""
        probed = Probed(self, source, probe)
        self.assertIsNotNone(probed.code, probed.overlay.events)
        plain = {"__name__": "probed"}
        exec(probed.plain, plain)
        seen = {True: [], False: []}
        for names in (plain, probed.names):

            def tracer(frame, event, what):
                if frame.f_code.co_filename == "probed.py":
                    seen[names is plain].append((event, frame.f_lineno))
                    return tracer
                return None

            sys.settrace(tracer)
            try:
                names[function](argument)
            finally:
                sys.settrace(None)
        without = [item for item in seen[False] if item[0] != "exception"]
        if len(without) != len(seen[False]):
            without = [item for index, item in enumerate(without) if not (index and without[index - 1] == item)]
        self.assertEqual(seen[True], without, (probe, argument))

    def test_both_at_once_and_others_beside_them_change_nothing(self):
        for dotted in functions():
            if dotted in NEVER_RETURN or dotted == "constant_below":
                continue
            with self.subTest(dotted):
                others = [spec(["return"], function=dotted, moment="return", limit=200, index=1), spec([], function=dotted, index=2, limit=200)]
                self.compare(dotted, "raise", *others)


NEVER_RETURN = ("raises", "stopping")
SEVERAL_LIVES = ("generator", "generator_finally", "delegating", "stopping", "coroutine", "step", "async_generator", "recursive", "finally_returns")


if __name__ == "__main__":
    unittest.main()
