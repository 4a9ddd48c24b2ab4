"""Whether a name has a value at a statement: for certain, perhaps, or surely not. Errs towards perhaps."""

import builtins
import difflib

import _ast

from bystander_overlay import scope as scopes
from bystander_overlay import tree as trees
from bystander_overlay import words

BOUND, MAYBE, UNDEFINED, LATER, NEXT_ROUND = "bound", "maybe", "undefined", "later", "next round"
"""The last two: bound further down only, and so in the same loop that reading it fails in the first round of all."""
_MODULE_NAMES = frozenset(
    "__name__ __file__ __doc__ __spec__ __loader__ __package__ __path__ __cached__ __builtins__ __annotations__ __dict__ __debug__".split()
)
_CLASS_NAMES = frozenset(["__module__", "__qualname__"])
_OPEN_CALLS = frozenset(["globals", "exec", "vars", "locals", "setattr", "__import__"])


class Unknown(Exception):
    """A name that surely has no value at a place; `later` says that it gets one further down."""

    def __init__(self, name, offset, later, candidates):
        Exception.__init__(self, name)
        self.name = name
        self.offset = offset
        self.later = later
        self.candidates = candidates


def own_names(spot):
    """The names that the innermost scope binds or declares."""
    names = scopes.names_of(spot.scope)
    return names.bound | names.declared_global | names.declared_nonlocal


def check_all(module, spot, expression, after):
    """Raises `Unknown` for the first name of an expression that surely has no value at a place."""
    inner = _bound_inside(expression)
    for node in trees.walk(expression):
        if isinstance(node, _ast.Name) and node.id not in inner:
            state = classify(module, spot, node.id, after)
            if state in (UNDEFINED, LATER):
                raise Unknown(node.id, node.col_offset, state == LATER, candidates(module, spot, node.id))


def check_anywhere(module, spot, expression):
    """Raises `Unknown` for the first name of an expression that nothing in the function, or around it, ever gives a value."""
    own = scopes.names_of(spot.scope)
    for node in trees.walk(expression):
        known = not isinstance(node, _ast.Name) or words.is_word(node.id) or node.id in own.bound or node.id in _bound_inside(expression)
        if not known and classify(module, spot, node.id) in (UNDEFINED, LATER):
            raise Unknown(node.id, node.col_offset, False, candidates(module, spot, node.id))


def _bound_inside(expression):
    found = set()
    for node in trees.walk(expression):
        if isinstance(node, _ast.Name) and not isinstance(node.ctx, _ast.Load):
            found.add(node.id)
        elif isinstance(node, _ast.arg):
            found.add(node.arg)
    return found


def classify(module, spot, name, after=False):
    """Tells whether a name has a value before (or after) the statement of a spot."""
    own = scopes.names_of(spot.scope)
    if len(spot.scopes) > 1 and name not in own.declared_global:
        if name in own.bound:
            return _in_own_scope(spot, name, after, own, module)
        if isinstance(spot.scope, _ast.ClassDef) and name in _CLASS_NAMES:
            return BOUND
        for scope in reversed(spot.scopes[1:-1]):
            if isinstance(scope, trees.FUNCTIONS) and name in scopes.names_of(scope).bound:
                return BOUND
        if name == "__class__" and any(isinstance(scope, _ast.ClassDef) for scope in spot.scopes):
            return BOUND
    return _in_module(module, spot, name, after)


def _in_own_scope(spot, name, after, own, module):
    if scopes.certainly_bound(spot, name, after, own):
        return BOUND
    if isinstance(spot.scope, _ast.ClassDef):
        return _in_module(module, spot, name, after) if not _may_precede(spot, name, after) else MAYBE
    if _may_precede(spot, name, after):
        return MAYBE
    return _in_loop(spot, name) or LATER


def _in_loop(spot, name):
    """What a binding further down in the same loop means: perhaps a value where the place may be passed over in the first round."""
    blocks = spot.local_blocks()
    for position, block in enumerate(blocks):
        if isinstance(block.owner, trees.LOOPS) and _binds_somewhere(block.owner, name):
            inner = [item.owner for item in blocks[position + 1 :]]
            straight = all(isinstance(owner, trees.LOOPS + (_ast.With, _ast.AsyncWith)) for owner in inner)
            return NEXT_ROUND if straight else MAYBE
    return None


def _may_precede(spot, name, after):
    """Tells whether some binding of a name in the scope, further up, can run before the place."""
    blocks = spot.local_blocks()
    last = len(blocks) - 1
    for position, block in enumerate(blocks):
        end = block.index + (1 if position == last and after else 0)
        if any(_binds_somewhere(item, name) for item in block.statements[:end]):
            return True
        if position < last and _head_binds(block.statements[block.index], blocks[position + 1], name):
            return True
    return spot.scope.__class__ in trees.FUNCTIONS and name in scopes.parameters(spot.scope)


def _head_binds(statement, inner, name):
    """Tells whether what runs between entering a compound statement and its inner block can bind a name."""
    if inner.field in ("orelse", "finalbody") or isinstance(inner.owner, _ast.ExceptHandler):
        return _binds_somewhere(statement, name)
    for node in trees.own_expressions(statement):
        if _node_binds(node, name):
            return True
    return type(inner.owner).__name__ == "match_case" and _binds_somewhere(inner.owner.pattern, name)


def _binds_somewhere(node, name):
    pending = [node]
    while pending:
        part = pending.pop()
        if _node_binds(part, name):
            return True
        if not isinstance(part, trees.SCOPES + (_ast.Lambda,)) or part is node:
            pending.extend(trees.children(part))
    return False


def _node_binds(node, name):
    if isinstance(node, _ast.Name):
        return node.id == name and isinstance(node.ctx, _ast.Store)
    if isinstance(node, trees.SCOPES):
        return node.name == name
    if isinstance(node, (_ast.Import, _ast.ImportFrom)):
        return name in scopes.imported(node)
    if isinstance(node, _ast.ExceptHandler) or type(node).__name__ in ("MatchAs", "MatchStar"):
        return node.name == name
    return type(node).__name__ == "MatchMapping" and node.rest == name


def _in_module(module, spot, name, after):
    own = scopes.names_of(module)
    if name in own.bound and _module_binds(module, spot, name, after, own):
        return BOUND
    if hasattr(builtins, name) or name in _MODULE_NAMES:
        return BOUND
    if name in own.bound and not _at_module(spot):
        return MAYBE
    if name in own.bound and _may_precede(spot, name, after):
        return MAYBE
    if _is_open(module, own) or _set_by_function(module, name):
        return MAYBE
    return LATER if name in own.bound else UNDEFINED


def _at_module(spot):
    return len(spot.scopes) == 1


def _module_binds(module, spot, name, after, own):
    if _at_module(spot):
        return scopes.certainly_bound(spot, name, after, own)
    return name not in own.deleted | own.handled and any(scopes.always_binds(item, name) for item in module.body)


def _is_open(module, own):
    """Tells whether a module can get names in ways that its text does not show."""
    if own.star_import or "__getattr__" in own.bound:
        return True
    for node in trees.walk(module):
        if isinstance(node, _ast.Call) and isinstance(node.func, _ast.Name) and node.func.id in _OPEN_CALLS:
            return True
        if isinstance(node, _ast.Attribute) and node.attr == "modules":
            return True
        if isinstance(node, _ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
    return False


def _set_by_function(module, name):
    return any(isinstance(node, _ast.Global) and name in node.names for node in trees.walk(module))


def candidates(module, spot, name):
    """Known names that are like one without a value."""
    known = set(dir(builtins))
    for scope in spot.scopes:
        if not isinstance(scope, _ast.ClassDef) or scope is spot.scope:
            known |= scopes.names_of(scope).bound
    known.discard(name)
    return difflib.get_close_matches(name, sorted(known), 3, 0.7)
