"""Statements of a syntax tree with the scopes and blocks around them; works with the interpreter's own `_ast` alone.

Needs no position to be present: tools that rewrite trees leave nodes without a line.
"""

import sys

import _ast

FUNCTIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)
SCOPES = FUNCTIONS + (_ast.ClassDef,)
LOOPS = (_ast.For, _ast.AsyncFor, _ast.While)
EXPRESSION_SCOPES = (_ast.Lambda, _ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_BLOCKS = ("body", "orelse", "finalbody")
_HOLDERS = ("handlers", "cases")


class Spot:
    """One statement and its surroundings: `scopes` from the module inwards, `blocks` from the module's body inwards."""

    __slots__ = ("statement", "scopes", "blocks")

    def __init__(self, statement, scopes, blocks):
        self.statement = statement
        self.scopes = scopes
        self.blocks = blocks

    @property
    def scope(self):
        """The innermost scope: a module, class or function."""
        return self.scopes[-1]

    @property
    def qualified(self):
        """The dotted name of the scope, empty for the module."""
        return ".".join(scope.name for scope in self.scopes[1:])

    def local_blocks(self):
        """The blocks that belong to the innermost scope."""
        return [block for block in self.blocks if block.depth == len(self.scopes)]


class Block:
    """A list of statements, the position taken in it, and the node and field that hold it."""

    __slots__ = ("statements", "index", "owner", "field", "depth")

    def __init__(self, statements, index, owner, field, depth):
        self.statements = statements
        self.index = index
        self.owner = owner
        self.field = field
        self.depth = depth


def blocks_of(node):
    """Yields `(owner, field, statements)` for each block directly under a node."""
    for field in _BLOCKS:
        statements = getattr(node, field, None)
        if isinstance(statements, list) and statements and isinstance(statements[0], _ast.stmt):
            yield node, field, statements
    for field in _HOLDERS:
        for holder in getattr(node, field, None) or ():
            for found in blocks_of(holder):
                yield found


def spots(node, scopes=None, blocks=()):
    """Yields a `Spot` for every statement below a module or scope, outer ones first."""
    scopes = scopes or (node,)
    for owner, field, statements in blocks_of(node):
        for index, statement in enumerate(statements):
            here = blocks + (Block(statements, index, owner, field, len(scopes)),)
            yield Spot(statement, scopes, here)
            inner = scopes + (statement,) if isinstance(statement, SCOPES) else scopes
            for spot in spots(statement, inner, here):
                yield spot


def children(node):
    """Yields the direct child nodes."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, _ast.AST):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, _ast.AST):
                    yield item


def walk(node):
    """Yields the node and everything below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def own_expressions(statement):
    """Yields the nodes of a statement's header: everything but the statements in its blocks."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        for child in children(node):
            if not isinstance(child, _ast.stmt):
                pending.append(child)


def first_line(statement):
    """The first line of a statement, decorators included; None where a tool left it out."""
    lines = [node.lineno for node in getattr(statement, "decorator_list", ()) if getattr(node, "lineno", None)]
    line = getattr(statement, "lineno", None)
    return min(lines + [line]) if line else None


_FIRST_RUN = (
    "decorator_list", "subject", "test", "iter", "items", "context_expr", "value", "exc", "func", "left", "operand", "values", "elts",
)  # fmt: skip
_ENDLESS_HAS_NO_CODE = sys.version_info < (3, 10)
"""Before 3.10 nothing of `while True:` itself runs."""
_ITSELF = EXPRESSION_SCOPES + (_ast.JoinedStr, _ast.Constant, _ast.Name)


def first_run_line(statement):
    """The line of the code that a statement begins with, which a tracer hears of first."""
    endless = isinstance(statement, _ast.While) and isinstance(statement.test, _ast.Constant) and bool(statement.test.value)
    if endless and _ENDLESS_HAS_NO_CODE:
        return first_run_line(statement.body[0])
    node, line = statement, statement.lineno
    while not isinstance(node, _ITSELF):
        for field in _FIRST_RUN:
            inner = getattr(node, field, None)
            inner = inner[0] if isinstance(inner, list) and inner else inner
            if isinstance(inner, (_ast.expr, _ast.withitem)):
                break
        else:
            return line
        node = inner
        line = getattr(node, "lineno", None) or line
    return line


def last_line(statement):
    """The last line of a statement; None where a tool left it out."""
    return getattr(statement, "end_lineno", None) or getattr(statement, "lineno", None)


def is_docstring(statement):
    """Tells whether a statement is only a string."""
    return (
        isinstance(statement, _ast.Expr)
        and isinstance(statement.value, _ast.Constant)
        and type(statement.value.value) is str
    )


def is_future_import(statement):
    """Tells whether a statement must stay at the top of its module."""
    return isinstance(statement, _ast.ImportFrom) and statement.module == "__future__"


def word_of(statement):
    """The word that a reader knows a statement by: its keyword, or the start of an assignment."""
    names = {
        "FunctionDef": "def", "AsyncFunctionDef": "async def", "ClassDef": "class", "AsyncFor": "async for",
        "AsyncWith": "async with", "ImportFrom": "import", "TryStar": "try", "AugAssign": "assignment",
        "AnnAssign": "assignment", "Assign": "assignment", "Expr": "expression", "Delete": "del",
    }  # fmt: skip
    kind = type(statement).__name__
    return names.get(kind, kind.lower())


def undecodable_line(data):
    """The line of the first byte that is not UTF-8, from 1, in a source that declares no other encoding; None where there is none.

    `compile` takes such bytes in a comment, where the interpreter that reads the file, and every import of it, does not.
    """
    if b"coding" in b"".join(data.split(b"\n", 2)[:2]):
        return None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return data.count(b"\n", 0, error.start) + 1
    return None
