"""Names and scopes: which names a scope binds, and which are bound for certain at a statement.

"For certain" is conservative: where this module says yes, reading the name cannot raise.
"""

import _ast

from bystander_overlay.tree import FUNCTIONS, SCOPES, blocks_of, children, own_expressions, walk

_COMPREHENSIONS = (_ast.ListComp, _ast.SetComp, _ast.DictComp, _ast.GeneratorExp)
_ENDS = (_ast.Return, _ast.Raise, _ast.Continue, _ast.Break)
_TRIES = tuple(getattr(_ast, name) for name in ("Try", "TryStar") if hasattr(_ast, name))


class Names:
    """What one scope does with names."""

    def __init__(self):
        self.bound = set()
        self.deleted = set()
        self.handled = set()
        self.declared_global = set()
        self.declared_nonlocal = set()
        self.used = set()
        self.star_import = False


def names_of(scope):
    """Collects the names that a module, class or function binds, deletes, declares and uses itself."""
    names = Names()
    if isinstance(scope, FUNCTIONS):
        names.bound.update(parameters(scope))
    for child in scope.body:
        _collect(child, names)
    names.bound -= names.declared_global | names.declared_nonlocal
    return names


def parameters(function):
    """The names of a function's parameters."""
    spec = function.args
    every = list(getattr(spec, "posonlyargs", ())) + spec.args + spec.kwonlyargs
    every += [extra for extra in (spec.vararg, spec.kwarg) if extra is not None]
    return [item.arg for item in every]


def _collect(node, names):
    if isinstance(node, _ast.Name):
        target = names.used if isinstance(node.ctx, _ast.Load) else names.bound
        target.add(node.id)
        if isinstance(node.ctx, _ast.Del):
            names.deleted.add(node.id)
    elif isinstance(node, SCOPES):
        names.bound.add(node.name)
        for outer in _evaluated_outside(node):
            _collect(outer, names)
        return
    elif isinstance(node, _ast.Lambda):
        for default in node.args.defaults + [item for item in node.args.kw_defaults if item is not None]:
            _collect(default, names)
        return
    elif isinstance(node, _COMPREHENSIONS):
        _collect_comprehension(node, names)
        return
    elif isinstance(node, (_ast.Import, _ast.ImportFrom)):
        names.bound.update(imported(node))
        names.star_import = names.star_import or any(alias.name == "*" for alias in node.names)
    elif isinstance(node, _ast.Global):
        names.declared_global.update(node.names)
    elif isinstance(node, _ast.Nonlocal):
        names.declared_nonlocal.update(node.names)
    elif isinstance(node, _ast.ExceptHandler) and node.name:
        names.bound.add(node.name)
        names.handled.add(node.name)
    elif type(node).__name__ in ("MatchAs", "MatchStar") and node.name:
        names.bound.add(node.name)
    elif type(node).__name__ == "MatchMapping" and node.rest:
        names.bound.add(node.rest)
    for child in children(node):
        _collect(child, names)


def _collect_comprehension(node, names):
    """The first iterable belongs to the scope outside, and so does a walrus; the rest is the comprehension's own."""
    _collect(node.generators[0].iter, names)
    for part in own_expressions(node):
        if isinstance(part, _ast.NamedExpr):
            names.bound.add(part.target.id)


def _evaluated_outside(node):
    parts = list(node.decorator_list)
    if isinstance(node, _ast.ClassDef):
        return parts + node.bases + [keyword.value for keyword in node.keywords]
    return parts + node.args.defaults + [item for item in node.args.kw_defaults if item is not None]


def imported(node):
    """The names that an import statement binds, `*` left out."""
    names = []
    for alias in node.names:
        if alias.name != "*":
            names.append(alias.asname or alias.name.partition(".")[0] if isinstance(node, _ast.Import) else alias.asname or alias.name)
    return names


def targets(node):
    """The plain names that an assignment target binds."""
    if isinstance(node, _ast.Name):
        return [node.id]
    if isinstance(node, _ast.Starred):
        return targets(node.value)
    if isinstance(node, (_ast.Tuple, _ast.List)):
        return [name for item in node.elts for name in targets(item)]
    return []


def always_binds(statement, name):
    """Tells whether a name is bound whenever control leaves the statement at its end."""
    if isinstance(statement, _ast.Assign):
        return any(name in targets(target) for target in statement.targets)
    if isinstance(statement, _ast.AnnAssign):
        return statement.value is not None and name in targets(statement.target)
    if isinstance(statement, _ast.AugAssign):
        return name in targets(statement.target)
    if isinstance(statement, (_ast.Import, _ast.ImportFrom)):
        return name in imported(statement)
    if isinstance(statement, SCOPES):
        return statement.name == name
    if isinstance(statement, (_ast.With, _ast.AsyncWith)):
        return any(item.optional_vars is not None and name in targets(item.optional_vars) for item in statement.items)
    if isinstance(statement, _ast.If):
        return _block_binds(statement.body, name) and _block_binds(statement.orelse, name)
    if isinstance(statement, _TRIES):
        return _try_binds(statement, name)
    return False


def _block_binds(statements, name):
    return any(always_binds(item, name) or isinstance(item, _ENDS) for item in statements)


def _try_binds(statement, name):
    if any(always_binds(item, name) for item in statement.finalbody):
        return True
    body = _block_binds(statement.body + statement.orelse, name)
    return body and all(_block_binds(handler.body, name) for handler in statement.handlers)


def certainly_bound(spot, name, after, names=None):
    """Tells whether a name of the innermost scope is bound for certain before (or after) the statement of the spot."""
    scope = spot.scope
    names = names or names_of(scope)
    blocks = spot.local_blocks()
    if name in names.deleted or name in names.handled:
        return name not in names.deleted and any(_is_handler_of(block.owner, name) for block in blocks)
    if isinstance(scope, FUNCTIONS) and name in parameters(scope):
        return True
    for position, block in enumerate(blocks):
        inner = position + 1 < len(blocks)
        end = block.index + (0 if inner or not after else 1)
        if any(always_binds(item, name) for item in block.statements[:end]):
            return True
        if inner and _entering_binds(blocks[position + 1], name):
            return True
    return False


def _is_handler_of(owner, name):
    """Tells whether an `except … as name` holds the place, with no second one inside that would unbind the name."""
    if not isinstance(owner, _ast.ExceptHandler) or owner.name != name:
        return False
    alike = [node for node in walk(owner) if isinstance(node, _ast.ExceptHandler) and node.name == name]
    return len(alike) == 1


def _entering_binds(block, name):
    """Tells whether going into a block binds a name: a loop's target, what `with` gives, a walrus that a test begins with."""
    owner = block.owner
    if isinstance(owner, _ast.If) or (isinstance(owner, _ast.While) and block.field == "body"):
        test = owner.test
        while isinstance(test, (_ast.Compare, _ast.UnaryOp)):
            test = test.left if isinstance(test, _ast.Compare) else test.operand
        return isinstance(test, _ast.NamedExpr) and test.target.id == name
    if isinstance(owner, (_ast.For, _ast.AsyncFor)):
        return block.field == "body" and name in targets(owner.target)
    if isinstance(owner, (_ast.With, _ast.AsyncWith)):
        return any(item.optional_vars is not None and name in targets(item.optional_vars) for item in owner.items)
    return False


def used_inside(scope):
    """Every name that a scope or any scope inside it mentions."""
    found = set()
    for _, _, statements in blocks_of(scope):
        pending = list(statements)
        while pending:
            node = pending.pop()
            if isinstance(node, _ast.Name):
                found.add(node.id)
            elif isinstance(node, (_ast.Nonlocal, _ast.Global)):
                found.update(node.names)
            pending.extend(children(node))
    return found
