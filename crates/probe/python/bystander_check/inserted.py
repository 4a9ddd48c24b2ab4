"""Checks lines that an edit added to a Python file: do they parse in their place, and have their names a value there."""

import _ast

from bystander_check import names
from bystander_overlay import tree as trees


def problems(request):
    """Lists what is wrong; lines count from 1 in the edited file, and also from 1 in the inserted text."""
    source, first, last = bytes(request["source"]), request["first"], request["last"]
    try:
        module = compile(source, "<edited>", "exec", 0x400, True)
        compile(source, "<edited>", "exec", 0, True)
    except (SyntaxError, ValueError) as error:
        return [_syntax(error, first, last)]
    found = []
    for spot in trees.spots(module):
        for node, deferred in _name_nodes(spot.statement):
            if first <= node.lineno <= last:
                found += _judged(module, spot, node, deferred, first)
    return found


def _syntax(error, first, last):
    line = getattr(error, "lineno", None)
    inside = line is not None and first <= line <= last
    return {
        "problem": "syntax",
        "line": line,
        "inserted_line": line - first + 1 if inside else None,
        "column": getattr(error, "offset", None),
        "message": getattr(error, "msg", None) or str(error),
        "text": (getattr(error, "text", None) or "").rstrip("\n") or None,
    }


def _name_nodes(statement):
    """The names that a statement's own head reads, each with whether it is read later: in a lambda or a generator."""
    found = []
    walrus = [part.target.id for part in trees.own_expressions(statement) if isinstance(part, _ast.NamedExpr)]
    _visit(statement, frozenset(walrus), False, found)
    return sorted(found, key=lambda item: (item[0].lineno, item[0].col_offset))


def _visit(node, inner, deferred, found):
    if isinstance(node, _ast.Name):
        if isinstance(node.ctx, (_ast.Load, _ast.Del)) and node.id not in inner:
            found.append((node, deferred))
        return
    if isinstance(node, trees.EXPRESSION_SCOPES):
        inner = inner | _bound_in(node)
        deferred = deferred or isinstance(node, (_ast.Lambda, _ast.GeneratorExp))
    for child in trees.children(node):
        if not isinstance(child, _ast.stmt):
            _visit(child, inner, deferred, found)


def _bound_in(node):
    if isinstance(node, _ast.Lambda):
        return frozenset(part.arg for part in trees.walk(node.args) if isinstance(part, _ast.arg))
    return frozenset(
        part.id
        for generator in node.generators
        for part in trees.walk(generator.target)
        if isinstance(part, _ast.Name) and isinstance(part.ctx, _ast.Store)
    )


def _bound_by_item_before(statement, node):
    """Tells whether an earlier item of the same `with` gives a name its value."""
    if not isinstance(statement, (_ast.With, _ast.AsyncWith)):
        return False
    given = [part for part in trees.own_expressions(statement) if isinstance(part, _ast.Name) and isinstance(part.ctx, _ast.Store)]
    return any(part.id == node.id and (part.lineno, part.col_offset) < (node.lineno, node.col_offset) for part in given)


def _judged(module, spot, node, deferred, first):
    state = names.classify(module, spot, node.id)
    if state in (names.LATER, names.NEXT_ROUND) and deferred:
        state = names.MAYBE
    if _bound_by_item_before(spot.statement, node):
        state = names.BOUND
    if state == names.BOUND:
        return []
    return [
        {
            "problem": "maybe_undefined" if state == names.MAYBE else "undefined",
            "name": node.id,
            "line": node.lineno,
            "inserted_line": node.lineno - first + 1,
            "column": node.col_offset + 1,
            "scope": spot.qualified or "<module>",
            "later": state in (names.LATER, names.NEXT_ROUND),
            "candidates": names.candidates(module, spot, node.id),
        }
    ]
