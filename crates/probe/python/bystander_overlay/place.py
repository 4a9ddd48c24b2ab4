"""From a place as the user names it to one statement and one side of it, or to a problem that says what is there instead.

The same code runs before the launch and in the program, so what was promised is what happens. Does not know about captures.
"""

import _ast

from bystander_overlay import ends
from bystander_overlay import pattern as patterns
from bystander_overlay import tree as trees
from bystander_overlay.compiled import dotted

_LEAVES = (_ast.Return, _ast.Raise, _ast.Continue, _ast.Break)
ENTRY, RETURN, RAISE = "entry", "return", "raise"
"""The moments of a call that can be probed."""


class PlaceProblem(Exception):
    """A place that cannot be taken: `kind` is a stable word, `facts` are what a message needs."""

    def __init__(self, kind, **facts):
        Exception.__init__(self, kind)
        self.kind = kind
        self.facts = facts

    def text(self):
        """One line for a receipt."""
        facts = ", ".join("%s %s" % (key, value) for key, value in sorted(self.facts.items()) if value not in (None, []))
        return self.kind.replace("_", " ") + (": " + facts if facts else "")


class Site:
    """The chosen statement (`spot`), the side, and the line that the injected statement takes.

    At the returns of a function, and where an exception leaves it, the spot is the function's first statement and `function` its definition.
    """

    def __init__(self, spot, after, note="", moment=None, function=None):
        self.spot = spot
        self.after = after
        self.line = (function or spot.statement).lineno
        self.note = note
        self.moment = moment
        self.function = function

    def describe(self):
        """The choice in words, such as "before line 12 (for)"."""
        if self.moment == RETURN:
            words = ends.describe(self.function)
        elif self.moment == RAISE:
            words = "when an exception leaves `%s`" % self.function.name
        else:
            words = "%s line %d (%s)" % ("after" if self.after else "before", self.line, trees.word_of(self.spot.statement))
        return words + (", %s" % self.note if self.note else "")

    def mark(self):
        """A fingerprint of the statement's head that ignores positions."""
        return fingerprint(self.spot.statement)


def resolve(module, function=None, line=None, after=None, mark=None, moment=None):
    """Finds the one statement of a place; raises `PlaceProblem`."""
    scope = None
    if function is not None:
        scope = find_function(module, function)
        if moment in (RETURN, RAISE):
            return leaving(scope, moment, _finder(module))
    if after is not None:
        inside = scope or _scope_at(module, line)
        return _after_pattern(module, inside, after)
    if scope is not None:
        return entry(scope, _finder(module))
    return _at_line(module, line, mark)


def scopes_in(module):
    """Yields `(dotted name, definition)` for every function and class of a module."""
    for spot in trees.spots(module):
        if isinstance(spot.statement, trees.SCOPES):
            yield dotted_name(spot), spot.statement


def dotted_name(spot):
    """The dotted name of the function or class that a spot's statement defines."""
    return ".".join([scope.name for scope in spot.scopes[1:]] + [spot.statement.name])


def find_function(module, name):
    """Finds the one function of a dotted name; stubs that only carry `@overload` do not count."""
    wanted = name.replace(".<locals>", "")
    found, known = [], []
    for dotted, definition in scopes_in(module):
        if isinstance(definition, trees.FUNCTIONS):
            known.append(dotted)
            if dotted == wanted and not is_overload(definition):
                found.append(definition)
    if not found:
        raise PlaceProblem("function_not_found", function=name, known=known, imported_from=_imported_from(module, name))
    if len(found) > 1:
        raise PlaceProblem("function_ambiguous", function=name, lines=[item.lineno for item in found])
    return found[0]


def is_overload(definition):
    """Tells whether a definition is a stub for type checkers alone."""
    return any(dotted(node).rpartition(".")[2] == "overload" for node in definition.decorator_list)


def _imported_from(module, name):
    head = name.partition(".")[0]
    for spot in trees.spots(module):
        node = spot.statement
        if isinstance(node, _ast.ImportFrom) and len(spot.scopes) == 1:
            for alias in node.names:
                if (alias.asname or alias.name) == head:
                    return "." * node.level + (node.module or "") + ":" + name.replace(head, alias.name, 1)
    return None


def _finder(module):
    """Makes the function that gives the spot of a statement of a module."""

    def spot_of(statement):
        for spot in trees.spots(module):
            if spot.statement is statement:
                return spot
        raise PlaceProblem("no_statement")

    return spot_of


def _scope_at(module, line):
    """The innermost function around a line, or the module."""
    inside = module
    for spot in trees.spots(module):
        node = spot.statement
        if isinstance(node, trees.FUNCTIONS) and node.lineno <= line <= (trees.last_line(node) or 0):
            inside = node
    return inside


def entry(function, spot_of):
    """The first statement of a function, its docstring passed over; `spot_of` gives the spot of a statement."""
    body = function.body
    index = 1 if trees.is_docstring(body[0]) and len(body) > 1 else 0
    while index + 1 < len(body) and isinstance(body[index], (_ast.Global, _ast.Nonlocal)):
        index += 1
    alone = trees.is_docstring(body[index])
    return Site(spot_of(body[index]), after=alone, note="entry of %s" % function.name)


def leaving(function, moment, spot_of):
    """Where control leaves a function, by its returns and its end or by an exception."""
    if moment == RETURN and not ends.returns(function) and ends.falls_off(function.body) == ends.NEVER:
        raise PlaceProblem("never_returns", function=function.name, line=function.lineno)
    return Site(spot_of(function.body[0]), after=False, moment=moment, function=function)


def _after_pattern(module, inside, text):
    try:
        wanted = patterns.parse(text)
    except patterns.PatternError as error:
        raise PlaceProblem("pattern_syntax", message=error.message, offset=error.offset)
    own = [spot for spot in trees.spots(module) if spot.scope is inside and getattr(spot.statement, "lineno", None)]
    found = [spot for spot in own if patterns.matches(wanted, spot.statement)]
    if not found:
        raise PlaceProblem("pattern_not_found", pattern=text, statements=[spot.statement.lineno for spot in own])
    if len(found) > 1:
        raise PlaceProblem("pattern_ambiguous", pattern=text, lines=[spot.statement.lineno for spot in found])
    return _after(found[0])


def _after(spot):
    """The side after a statement, or what comes nearest to it."""
    statement = spot.statement
    if isinstance(statement, _LEAVES):
        return Site(spot, after=False, note="nothing runs after it")
    block = spot.blocks[-1]
    if any(True for _ in trees.blocks_of(statement)) and block.index + 1 < len(block.statements):
        following = block.statements[block.index + 1]
        if getattr(following, "lineno", None):
            here = trees.Block(block.statements, block.index + 1, block.owner, block.field, block.depth)
            note = "what follows the `%s` of line %d" % (trees.word_of(statement), statement.lineno)
            return Site(trees.Spot(following, spot.scopes, spot.blocks[:-1] + (here,)), after=False, note=note)
    return Site(spot, after=True)


def _at_line(module, line, mark):
    """The statement that a breakpoint on this line would stop before."""
    every = [spot for spot in trees.spots(module) if getattr(spot.statement, "lineno", None)]
    if mark is not None:
        return _marked(every, line, mark)
    if not every or line > max(trees.last_line(spot.statement) for spot in every):
        raise PlaceProblem("line_past_end", line=line, last=max([trees.last_line(spot.statement) for spot in every] or [0]))
    chosen = _first_on(every, line) or _innermost_around(every, line)
    if chosen is None or _is_below_head(chosen.statement, line):
        later = [spot for spot in every if trees.first_line(spot.statement) >= line]
        chosen = min(later, key=lambda spot: trees.first_line(spot.statement)) if later else chosen
    return at_statement(every, chosen, line, _finder(module))


def at_statement(every, spot, line, spot_of):
    """The place of a line on which the statement of a spot begins, among `every` spot of the module."""
    if isinstance(spot.statement, trees.FUNCTIONS) and line >= spot.statement.lineno:
        return entry(spot.statement, spot_of)
    return _before(every, spot)


def _first_on(every, line):
    """The outermost, leftmost statement that begins on a line."""
    return next((spot for spot in every if trees.first_line(spot.statement) == line), None)


def _innermost_around(every, line):
    around = [spot for spot in every if trees.first_line(spot.statement) <= line <= trees.last_line(spot.statement)]
    return around[-1] if around else None


def _is_below_head(statement, line):
    """Tells whether a line of a compound statement lies in no statement of it and after its head: blank, comment, `else`."""
    inner = [trees.first_line(item) for _, _, block in trees.blocks_of(statement) for item in block]
    return bool(inner) and line >= min(item for item in inner if item)


def _before(every, spot):
    """The side before a statement, moved down where a docstring or `from __future__` must stay first."""
    statement = spot.statement
    block = spot.blocks[-1]
    in_module = len(spot.scopes) == 1 and len(spot.blocks) == 1
    first = block.index == 0 and isinstance(block.owner, (_ast.Module,) + trees.SCOPES)
    if not (trees.is_docstring(statement) and first) and not (in_module and trees.is_future_import(statement)):
        return Site(spot, after=False)
    for later in every:
        same = later.blocks[-1].statements is block.statements and later.blocks[-1].index > block.index
        if same and not trees.is_future_import(later.statement):
            return Site(later, after=False, note="line %d must stay first" % statement.lineno)
    return Site(spot, after=True)


def _marked(every, line, mark):
    """The statement with a fingerprint, the nearest to its old line where it exists once in its scope."""
    alike = [spot for spot in every if fingerprint(spot.statement) == mark]
    exact = [spot for spot in alike if spot.statement.lineno == line]
    chosen = exact or alike
    if len(chosen) != 1:
        raise PlaceProblem("file_changed", line=line, lines=[spot.statement.lineno for spot in alike])
    return Site(chosen[0], after=False)


def fingerprint(node):
    """A short text that two statements share when their heads are the same by syntax."""
    parts = []
    _print(node, parts, True)
    value = 0
    for byte in "|".join(parts).encode("utf-8", "surrogatepass"):
        value = (value * 1099511628211 ^ byte) & 0xFFFFFFFFFFFFFFFF
    return "%016x" % value


def _print(node, parts, top):
    parts.append(type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if field in ("ctx", "kind", "type_comment", "type_params"):
            continue
        if top and field in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, _ast.AST):
                _print(item, parts, False)
            else:
                parts.append(repr(item))
