"""Where a statement goes into the text of a file so that it runs at a place and no line moves: on the same physical line.

Every answer was tried: the changed text compiles, and is the old text by syntax once the new statement is taken out again.
"""

import io
import re
import tokenize

import _ast

from bystander_overlay import tree as trees

_STAND_IN = b'__import__("sys")'
_LINE_ENDS = re.compile(b"\r\n|\r|\n")
_LEAVES = (_ast.Return, _ast.Raise, _ast.Continue, _ast.Break)
_POSITIONS = ("lineno", "end_lineno")


class Refused(Exception):
    """A place that the text of the file has no room for; `args[0]` is the reason."""


def insertion(data, path, tree, site):
    """The byte at which a statement is inserted and whether it follows a statement there, or the reason why none can be."""
    try:
        return _insertion(data, path, tree, site)
    except Refused as refused:
        return {"refused": refused.args[0]}


def _insertion(data, path, tree, site):
    if getattr(site, "moment", None) in ("return", "raise"):
        raise Refused("a statement on one line cannot stand where a function is left; only an entry or a line can be probed by text")
    for statement, after in _candidates(site):
        offset = _offset(data, statement, after)
        if offset is not None and _holds(data, path, tree, offset, after):
            return {"offset": offset, "follows": after}
    word, line = trees.word_of(site.spot.statement), site.spot.statement.lineno
    raise Refused("`%s` at %d begins a block, and no simple statement stands right before it in its own block" % (word, line)
                  if _is_compound(site.spot.statement) else "`%s` at %d has no room on its line" % (word, line))  # fmt: skip


def _candidates(site):
    """The statements beside which the same control passes, with the side; the chosen one first."""
    block = site.spot.blocks[-1]
    index = [item is site.spot.statement for item in block.statements].index(True)
    if not site.after:
        statement = block.statements[index]
        first = index == 0 and isinstance(block.owner, (_ast.Module,) + trees.SCOPES)
        if not _is_compound(statement) and not (first and trees.is_docstring(statement)) and not trees.is_future_import(statement):
            yield statement, False
        if index > 0 and _falls_through(block.statements[index - 1]):
            yield block.statements[index - 1], True
        return
    if _falls_through(block.statements[index]):
        yield block.statements[index], True
    if index + 1 < len(block.statements) and not _is_compound(block.statements[index + 1]):
        yield block.statements[index + 1], False


def _is_compound(statement):
    return any(True for _ in trees.blocks_of(statement))


def _falls_through(statement):
    """Tells whether a simple statement always hands control to the next one of its block, if it raises nothing."""
    return not _is_compound(statement) and not isinstance(statement, _LEAVES)


def _offset(data, statement, after):
    """The offset of a statement's first byte, or of the byte behind its last one."""
    line = statement.end_lineno if after else statement.lineno
    column = statement.end_col_offset if after else statement.col_offset
    start, encoding = 0, _encoding(data)
    if encoding is None:
        return None
    starts = [0] + [found.end() for found in _LINE_ENDS.finditer(data)]
    if data.startswith(b"\xef\xbb\xbf"):
        starts[0] = 3
    if line > len(starts):
        return None
    start = starts[line - 1]
    if encoding in ("utf-8", "ascii"):
        return start + column
    end = starts[line] if line < len(starts) else len(data)
    try:
        head = data[start:end].decode(encoding).encode("utf-8")[:column].decode("utf-8")
        return start + len(head.encode(encoding))
    except UnicodeError:
        return None


def _encoding(data):
    try:
        found = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except (SyntaxError, UnicodeError):
        return None
    return "utf-8" if found == "utf-8-sig" else found


def _holds(data, path, tree, offset, after):
    """Tries it: the statement stands alone in its place, and the file is the same without it."""
    shift = 2 if after else 0
    text = b"; " + _STAND_IN if after else _STAND_IN + b"; "
    changed = data[:offset] + text + data[offset:]
    try:
        new = compile(changed, path, "exec", 0x400, True)
    except (SyntaxError, ValueError):
        return False
    start = max([0] + [found.end() for found in _LINE_ENDS.finditer(changed, 0, offset)])
    if start == 0 and changed.startswith(b"\xef\xbb\xbf"):
        start = 3
    encoding = _encoding(data)
    column = len(changed[start : offset + shift].decode(encoding).encode("utf-8"))
    line = 1 + len(_LINE_ENDS.findall(changed, 0, offset))
    found = [spot for spot in trees.spots(new) if _stands_at(spot.statement, line, column)]
    if len(found) != 1 or _starts_file_before_future(found[0]):
        return False
    block = found[0].blocks[-1]
    del block.statements[block.index]
    return _same(tree, new)


def _starts_file_before_future(spot):
    block = spot.blocks[-1]
    return any(trees.is_future_import(statement) for statement in block.statements[block.index :])


def _stands_at(statement, line, column):
    return (
        isinstance(statement, _ast.Expr)
        and (statement.lineno, statement.col_offset) == (line, column)
        and statement.end_col_offset == column + len(_STAND_IN)
    )


def _same(one, other):
    """Compares two trees with their lines, and without their columns: those behind the new statement have moved."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(*pair) for pair in zip(one, other))
    if not isinstance(one, _ast.AST):
        return one == other or one != one
    if any(getattr(one, name, None) != getattr(other, name, None) for name in _POSITIONS):
        return False
    return all(_same(getattr(one, name, None), getattr(other, name, None)) for name in one._fields)
