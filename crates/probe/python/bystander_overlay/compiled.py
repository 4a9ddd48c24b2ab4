"""Recognises code that a compiler or a recorder of GPU work takes over, by decorator, by call, or by the block around it.

What is looked at is one file: a function that is handed to a compiler elsewhere is not known here.
"""

import _ast

from bystander_overlay import scope as scopes
from bystander_overlay import tree as trees

SOURCE, TRACED, DYNAMO, CAPTURED = "source", "traced", "dynamo", "captured"
"""How it is taken over: read from its source or bytecode; run once to trace it; `torch.compile`; recorded as a CUDA graph."""

_KINDS = (
    ("numba", SOURCE), ("triton", SOURCE), ("tilelang", SOURCE), ("taichi", SOURCE), ("cython", SOURCE), ("torch.jit.trace", TRACED),
    ("torch.jit", SOURCE), ("torch.compile", DYNAMO), ("torch._dynamo", DYNAMO), ("torch.export", DYNAMO), ("torch.compiler", DYNAMO),
    ("jax.jit", TRACED), ("jax.pmap", TRACED), ("torch.fx.symbolic_trace", TRACED), ("torch.cuda.graph", CAPTURED),
    ("torch.cuda.make_graphed_callables", CAPTURED), ("torch.cuda.graphs", CAPTURED),
)  # fmt: skip
_BARE = {"njit": SOURCE, "guvectorize": SOURCE, "support_torch_compile": DYNAMO, "make_graphed_callables": CAPTURED}
_FORGIVEN = (
    "torch.jit.ignore", "torch.jit.unused", "torch.jit.export", "torch._dynamo.disable", "torch._dynamo.skip", "torch._dynamo.config", "torch._dynamo.reset",
    "torch.compiler.disable", "torch.compiler.is_compiling", "torch.compiler.allow_in_graph", "torch.compiler.reset", "numba.objmode",
)  # fmt: skip
_OF_INSTANCES = ("forward", "__call__")
_EFFECTS = {
    (TRACED, "break"): "hits while it is traced, none when what was traced runs",
    (DYNAMO, "break"): "a graph break at the probe",
    (DYNAMO, "skip"): "0 hits by design while compiled",
    (CAPTURED, "break"): "hits while the graph is captured, none when it is replayed",
    (CAPTURED, "skip"): "0 hits by design while the graph is captured or replayed",
}
_HANDED = ("fn", "model", "func", "callables")
_GUARDS = {DYNAMO: "compiler.is_compiling()", CAPTURED: "cuda.is_current_stream_capturing()"}


class Takeover:
    """What takes a place over: `name` is the decorator, call or block, `line` where it stands."""

    def __init__(self, kind, name, line):
        self.kind = kind
        self.name = name
        self.line = line

    def effect(self, wanted):
        """What a probe does there where `compiled` is "break" or "skip"; None where it cannot be put in at all."""
        return _EFFECTS.get((self.kind, wanted))

    def reason(self):
        """One line for a receipt."""
        return "the function is compiled by `%s` (line %d)" % (self.name, self.line)


class Takeovers:
    """What takes over the places of one file; looks at the whole file once, when first asked of a function."""

    def __init__(self, module):
        self.module = module
        self.aliases = _aliases(module)
        self.users = None

    def of(self, spot):
        """The takeover of the place of a spot; None where nothing takes it over."""
        return _by_decorator(spot, self.aliases) or _by_block(spot, self.aliases) or self._by_use(spot)

    def guard(self, spot, kind):
        """The test in the program's own words that is true while the code is taken over; None where the file does not name torch."""
        local = {name for scope in spot.scopes[1:] if isinstance(scope, trees.FUNCTIONS) for name in scopes.names_of(scope).bound}
        for name, full in sorted(self.aliases.items()):
            if full == "torch" and name not in local:
                return "%s.%s" % (name, _GUARDS[kind])
        return None

    def _by_use(self, spot):
        """A call that hands one of the functions around the place to a compiler, or a graph block that calls one."""
        functions = [scope for scope in spot.scopes[1:] if isinstance(scope, trees.FUNCTIONS)]
        if functions and self.users is None:
            self.users = [item for user in trees.spots(self.module) for item in _uses(user, self.aliases)]
        for user, handed, found in self.users if functions else ():
            if any(_names(item, functions, user, spot) for item in handed):
                return found
        return None


def _uses(user, aliases):
    """Yields what a statement hands to compilers, or calls in a graph block: `(spot, expressions, takeover)`."""
    block = _by_block(user, aliases)
    for node in trees.own_expressions(user.statement):
        if isinstance(node, _ast.Call):
            found = _takeover(node, aliases)
            if found is not None:
                yield user, node.args[:1] + [keyword.value for keyword in node.keywords if keyword.arg in _HANDED], found
            if block is not None:
                yield user, [node.func], block


def dotted(node):
    """The dotted name that an expression spells, calls looked through; empty for anything else."""
    if isinstance(node, _ast.Call):
        name = dotted(node.func)
        wraps = name.rpartition(".")[2] == "partial" and node.args
        return dotted(node.args[0]) if wraps else name
    if isinstance(node, _ast.Attribute):
        head = dotted(node.value)
        return head + "." + node.attr if head else ""
    return node.id if isinstance(node, _ast.Name) else ""


def _kind(name):
    if not name or any(name == item or name.startswith(item + ".") for item in _FORGIVEN):
        return None
    for known, kind in _KINDS:
        if name == known or name.startswith(known + "."):
            return kind
    return _BARE.get(name.rpartition(".")[2])


def _takeover(node, aliases):
    name = _full(dotted(node), aliases)
    kind = _kind(name)
    return Takeover(kind, name, node.lineno) if kind is not None else None


def _by_decorator(spot, aliases):
    """A decorator of a function around the place, or of a class whose instances are called."""
    inside = spot.scopes[1:]
    for position, scope in enumerate(inside):
        for node in scope.decorator_list:
            found = _takeover(node, aliases)
            if found is None:
                continue
            method = inside[position + 1].name if position + 1 < len(inside) else None
            if isinstance(scope, trees.FUNCTIONS) or found.kind == SOURCE or method in _OF_INSTANCES:
                return found
    return None


def _by_block(spot, aliases):
    """A `with` block around the place that records a CUDA graph."""
    for block in spot.blocks:
        for item in getattr(block.owner, "items", ()):
            found = _takeover(item.context_expr, aliases)
            if found is not None and found.kind == CAPTURED:
                return found
    return None


def _names(node, functions, user, spot):
    """Tells whether an expression names one of some functions: by name, as an attribute of its class or instance, or by its instance."""
    names = [function.name for function in functions]
    if isinstance(node, (_ast.Tuple, _ast.List)):
        return any(_names(item, functions, user, spot) for item in node.elts)
    owner = _class_of(spot)
    inside = owner is not None and owner in user.scopes
    if isinstance(node, _ast.Name):
        if node.id == "self":
            return inside and any(name in _OF_INSTANCES for name in names)
        return any(function.name == node.id and not _is_method(function, spot) for function in functions)
    if isinstance(node, _ast.Attribute) and isinstance(node.value, _ast.Name) and node.attr in names and owner is not None:
        return node.value.id == owner.name or (inside and node.value.id in ("self", "cls"))
    return False


def _is_method(function, spot):
    return any(inner is function and isinstance(scope, _ast.ClassDef) for scope, inner in zip(spot.scopes, spot.scopes[1:]))


def _class_of(spot):
    """The class whose method the outermost function around a place is."""
    for scope, inner in zip(spot.scopes[1:], spot.scopes[2:]):
        if isinstance(scope, _ast.ClassDef) and isinstance(inner, trees.FUNCTIONS):
            return scope
    return None


def _aliases(module):
    aliases = {}
    for spot in trees.spots(module):
        node = spot.statement
        if isinstance(node, _ast.Import):
            for alias in node.names:
                aliases[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else alias.name.partition(".")[0]
        elif isinstance(node, _ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                aliases[alias.asname or alias.name] = node.module + "." + alias.name
    return aliases


def _full(name, aliases):
    head, dot, rest = name.partition(".")
    return aliases.get(head, head) + dot + rest
