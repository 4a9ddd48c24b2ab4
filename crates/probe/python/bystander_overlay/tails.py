"""The points at which control falls off the end of a function, each by itself, and how a statement is put there and taken out.

From 3.10 on the implicit return at each of them has the line of what ran before it, so each gets statements of its own. Before
3.10 they share one return at the end of the code, and so the statement goes there.
"""

import sys

import _ast

from bystander_overlay import ends
from bystander_overlay import statement as statements
from bystander_overlay import tree as trees

_TRIES = tuple(getattr(_ast, name) for name in ("Try",) if hasattr(_ast, name))
_WITHS = (_ast.With, _ast.AsyncWith)
_WITH_TELLS = sys.version_info >= (3, 13)


class Point:
    """One such point: after or before `anchor` in `block`, or at the end of `block` where `anchor` is None (an `else`, a `case _`).

    `line` is that of a statement put there, `return_line` that of a `return` behind it, which stands for the implicit one.
    """

    def __init__(self, block, anchor, after, near, line=statements.NO_LINE, return_line=None, as_case=False):
        self.block = block
        self.anchor = anchor
        self.after = after
        self.near = near
        self.line = line
        self.return_line = line if return_line is None else return_line
        self.as_case = as_case

    def insert(self, nodes):
        """Puts nodes there; returns the function that takes them out."""
        if self.as_case:
            nodes = [statements.last_case(nodes, self.line, self.line)]
        return inserted(self.block, self.anchor, self.after, nodes)


def inserted(block, anchor, after, nodes):
    """Puts nodes beside an anchor, or at the end where it is None; returns the function that takes them out."""
    where = len(block) if anchor is None else [item is anchor for item in block].index(True) + (1 if after else 0)
    block[where:where] = nodes

    def undo():
        for node in nodes:
            del block[[item is node for item in block].index(True)]

    return undo


def points(function):
    """The points of a function, in the order of the text. `near` is a statement of the program from which names can be judged."""
    found = []
    if not statements.INHERITS_LINES:
        if ends.falls_off(function.body) != ends.NEVER:
            found.append(Point(function.body, function.body[-1], True, function.body[-1]))
        return found
    _of_block(function.body, found)
    return found


def _of_block(block, found):
    if not block or ends.falls_off(block) == ends.NEVER:
        return
    last = block[-1]
    if getattr(last, "bystander", False):
        found.append(Point(block, last, True, last))
    elif isinstance(last, _ast.If):
        _of_block(last.body, found)
        _of_else(last, found)
    elif isinstance(last, trees.LOOPS):
        for statement, inside in ends.breaks(last):
            found.append(Point(inside, statement, False, statement, return_line=statement.lineno))
        if ends.loop_ends(last):
            _of_else(last, found)
    elif isinstance(last, _WITHS):
        line = statements.NO_LINE if _WITH_TELLS else last.lineno
        found.append(Point(block, last, True, last, line))
    elif isinstance(last, _TRIES) and not last.finalbody:
        _of_try(last, found)
    elif type(last).__name__ == "Match":
        for case in last.cases:
            _of_block(case.body, found)
        if not ends.is_irrefutable(last.cases[-1]):
            found.append(Point(last.cases, None, True, last, as_case=True))
    else:
        found.append(Point(block, last, True, last))


def _of_else(last, found):
    if last.orelse:
        _of_block(last.orelse, found)
    else:
        found.append(Point(last.orelse, None, True, last, _line_of_test(last)))


def _line_of_test(last):
    """The line at which a test that does not hold leaves; none where there are several, or where the code has only one way there."""
    test = getattr(last, "test", None)
    return test.lineno if test is not None and test.lineno == test.end_lineno else statements.NO_LINE


def _of_try(last, found):
    if ends.falls_off(last.body) != ends.NEVER:
        _of_else(last, found)
    for handler in last.handlers:
        _of_block(handler.body, found)
