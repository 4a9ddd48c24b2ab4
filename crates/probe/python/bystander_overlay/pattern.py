"""Patterns by syntax: one statement in which `...` stands for any expression, any arguments, or any statements.

Text, white space, line breaks and quotes do not matter; two trees are compared.
"""

import _ast

_IGNORED = ("ctx", "kind", "type_comment", "type_ignores")


class PatternError(Exception):
    """A pattern that is not one statement; `offset` counts characters from its start."""

    def __init__(self, message, offset):
        Exception.__init__(self, message)
        self.message = message
        self.offset = offset


def parse(text):
    """Parses a pattern; the head of a compound statement stands for the whole of it."""
    stripped = text.strip()
    tree = None
    try:
        tree = _tree(stripped)
    except SyntaxError as error:
        if not stripped.endswith(":"):
            raise PatternError(error.msg, _offset(text, error))
    if tree is None:
        try:
            tree = _tree(stripped + " ...")
        except SyntaxError as error:
            raise PatternError(error.msg, _offset(text, error))
    if len(tree.body) != 1:
        raise PatternError("a pattern is exactly one statement, this has %d" % len(tree.body), 0)
    if _is_any_statement(tree.body[0]):
        raise PatternError("`...` alone would match every statement", 0)
    return tree.body[0]


def _tree(text):
    try:
        return compile(text, "<pattern>", "exec", 0x400, True)
    except (RecursionError, MemoryError):
        raise PatternError("it is nested too deep", 0)


def _offset(text, error):
    leading = len(text) - len(text.lstrip())
    lines = text.strip().split("\n")
    before = sum(len(line) + 1 for line in lines[: max(0, (error.lineno or 1) - 1)])
    return min(len(text), leading + before + max(0, (error.offset or 1) - 1))


def matches(pattern, node):
    """Tells whether a syntax tree has the form of a pattern."""
    if _is_any(pattern):
        return isinstance(node, _ast.expr)
    if _is_any_statement(pattern):
        return isinstance(node, _ast.stmt)
    if isinstance(pattern, _ast.AST):
        return type(pattern) is type(node) and _fields_match(pattern, node)
    if isinstance(pattern, list):
        return isinstance(node, list) and _lists_match(pattern, node)
    return type(pattern) is type(node) and pattern == node


def _fields_match(pattern, node):
    anything = _body_is_any(pattern)
    for field in pattern._fields:
        if field in _IGNORED:
            continue
        mine, theirs = getattr(pattern, field, None), getattr(node, field, None)
        if anything and field in ("orelse", "finalbody", "handlers") and not mine:
            continue
        if field == "keywords" and not mine and isinstance(pattern, _ast.Call) and _ends_open(pattern.args):
            continue
        if not matches(mine, theirs):
            return False
    return True


def _body_is_any(pattern):
    body = getattr(pattern, "body", None)
    return isinstance(body, list) and len(body) == 1 and _is_any_statement(body[0])


def _ends_open(arguments):
    return bool(arguments) and _is_any(arguments[-1])


def _lists_match(pattern, items):
    """Matches two lists where `...` in the pattern takes any number of items."""
    if not pattern:
        return not items
    head = pattern[0]
    if _is_any(head) or _is_any_statement(head):
        return any(_lists_match(pattern[1:], items[skip:]) for skip in range(len(items) + 1))
    return bool(items) and matches(head, items[0]) and _lists_match(pattern[1:], items[1:])


def _is_any(node):
    return isinstance(node, _ast.Constant) and node.value is Ellipsis


def _is_any_statement(node):
    return isinstance(node, _ast.Expr) and _is_any(node.value)
