"""Where control leaves a function: its own `return` statements, and the ends of its body that are reached without one.

The ends matter one by one: the interpreter gives the implicit return of each the line of what came before it.
"""

import _ast

from bystander_overlay import tree as trees

NEVER, BY_SUPPRESSION, ALWAYS = 0, 1, 2
"""Whether the end of a block is reached: not at all; only where a `with` swallows an exception; as far as can be told."""
_TRIES = tuple(getattr(_ast, name) for name in ("Try", "TryStar") if hasattr(_ast, name))
_WITHS = (_ast.With, _ast.AsyncWith)
_LEAVES = (_ast.Return, _ast.Raise, _ast.Continue, _ast.Break)


def returns(function):
    """The `return` statements of a function itself, as `(statement, block list)`, in the order of the text."""
    found = []
    _collect(function, _ast.Return, found, into_loops=True)
    return found


def _collect(node, kind, found, into_loops):
    for _, field, statements in trees.blocks_of(node):
        for statement in statements:
            if isinstance(statement, kind):
                found.append((statement, statements))
            elif isinstance(statement, trees.LOOPS) and not into_loops:
                # A loop inside has its own `break`; what its `else` breaks is the loop outside.
                for inner in statement.orelse:
                    _collect_one(inner, statement.orelse, kind, found, into_loops)
            elif not isinstance(statement, trees.SCOPES):
                _collect(statement, kind, found, into_loops)


def _collect_one(statement, statements, kind, found, into_loops):
    if isinstance(statement, kind):
        found.append((statement, statements))
    elif isinstance(statement, trees.LOOPS) and not into_loops:
        for inner in statement.orelse:
            _collect_one(inner, statement.orelse, kind, found, into_loops)
    elif not isinstance(statement, trees.SCOPES):
        _collect(statement, kind, found, into_loops)


def breaks(loop):
    """The `break` statements that leave a loop, as `(statement, block list)`."""
    found = []
    for statement in loop.body:
        _collect_one(statement, loop.body, _ast.Break, found, into_loops=False)
    return found


def falls_off(statements):
    """Tells whether control reaches the end of a block."""
    reached = ALWAYS
    for statement in statements:
        reached = min(reached, _passes(statement))
    return reached


def _passes(statement):
    if isinstance(statement, _LEAVES):
        return NEVER
    if isinstance(statement, _ast.If):
        return max(falls_off(statement.body), falls_off(statement.orelse))
    if isinstance(statement, trees.LOOPS):
        return _passes_loop(statement)
    if isinstance(statement, _WITHS):
        return max(BY_SUPPRESSION, falls_off(statement.body))
    if isinstance(statement, _TRIES):
        ways = [falls_off(statement.body + statement.orelse)] + [falls_off(handler.body) for handler in statement.handlers]
        return min(max(ways), falls_off(statement.finalbody))
    if type(statement).__name__ == "Match":
        ways = [falls_off(case.body) for case in statement.cases]
        return max(ways + [NEVER if is_irrefutable(statement.cases[-1]) else ALWAYS])
    return ALWAYS


def _passes_loop(loop):
    if breaks(loop):
        return ALWAYS
    return falls_off(loop.orelse) if loop_ends(loop) else NEVER


def loop_ends(loop):
    """Tells whether a loop can end by itself: all but `while True`."""
    return not (isinstance(loop, _ast.While) and isinstance(loop.test, _ast.Constant) and bool(loop.test.value))


def is_irrefutable(case):
    """Tells whether a `case` matches everything: a bare name or `_`."""
    return case.guard is None and type(case.pattern).__name__ == "MatchAs" and case.pattern.pattern is None


def describe(function):
    """The ends in words, such as "at the returns of `f` (12, 15 and the end)"."""
    lines = [str(statement.lineno) for statement, _ in returns(function)]
    end = falls_off(function.body) == ALWAYS
    many = len(lines) + end > 1
    if end:
        lines.append("the end")
    if not lines:
        lines = ["the end, where a `with` swallows an exception"]
    listed = ", ".join(lines[:-1]) + " and " + lines[-1] if many else lines[0]
    finals = sorted({final.lineno for final in _finals_with_returns(function)})
    note = "; before the `finally` of the `try` at %s runs" % ", ".join(map(str, finals)) if finals else ""
    return "at the return%s of `%s` (%s%s)" % ("s" if many else "", function.name, listed, note)


def _finals_with_returns(function):
    found = []
    pending = [function]
    while pending:
        node = pending.pop()
        for _, _, statements in trees.blocks_of(node):
            for statement in statements:
                if isinstance(statement, trees.SCOPES):
                    continue
                pending.append(statement)
                if isinstance(statement, _TRIES) and statement.finalbody and _returns_inside(statement):
                    found.append(statement)
    return found


def _returns_inside(statement):
    inside = []
    _collect(statement, _ast.Return, inside, into_loops=True)
    return any(not any(found is item for item in _final_returns(statement)) for found, _ in inside)


def _final_returns(statement):
    found = []
    for inner in statement.finalbody:
        _collect_one(inner, statement.finalbody, _ast.Return, found, into_loops=True)
    return [item for item, _ in found]
