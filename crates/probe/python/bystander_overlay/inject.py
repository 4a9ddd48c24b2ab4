"""Builds the statement that goes into the program's code, and the plan of what its hook does.

A name becomes an argument only where it is bound for certain; other names of the function are read one by one, each guarded;
globals are read from the frame. So no read can raise in the program and no scope changes.
"""

import sys

import _ast

from bystander_overlay import capture as captures
from bystander_overlay import scope as scopes
from bystander_overlay import tree as trees
from bystander_overlay.hook import SURVIVES_RECURSION, Capture
from bystander_overlay.reading import Unreadable
from bystander_overlay.secret import ALWAYS, secrecy

ARGUMENT, STAGED, NAMESPACE = "argument", "staged", "namespace"
_MISSING = object()


class Injection:
    """The statements for one probe at one site, and what the hook needs to know."""

    def __init__(self, probe, site):
        self.spot = site.spot
        self.after = site.after
        self.line = site.line
        self.column = getattr(site.spot.statement, "col_offset", 0)
        self.names = scopes.names_of(self.spot.scope)
        self.hook = "__bystander_%d__" % probe["index"]
        self.arguments = []
        self.captures = []
        self.lines = []
        self.needs_namespace = False
        expressions = list(probe["capture"])
        if probe["rank"] is not None:
            expressions.append(probe["rank"])
        for index, text in enumerate(expressions):
            self.captures.append(self._capture(index, text, probe["unsafe"]))
        self.node = self._statement()

    def _capture(self, index, text, unsafe):
        node = captures.parse(text)
        hidden = secrecy(captures.last_name(node))
        if hidden == ALWAYS:
            return Capture(secrecy=hidden)
        if unsafe:
            self.lines += ["try:", "    %s.stage(%d, (%s\n))" % (self.hook, index, text), "except:", "    %s.fail(%d)" % (self.hook, index)]
            return Capture(argument=0, staged=True, secrecy=hidden)
        self._mangle(node)
        kinds = {name: self._kind(name) for name in captures.roots(node)}
        if STAGED in kinds.values():
            return self._staged(index, node, kinds, hidden)
        position = {name: self._position(name, kind) for name, kind in kinds.items()}
        if isinstance(node, _ast.Name) and type(position[node.id]) is int:
            return Capture(argument=position[node.id], secrecy=hidden)
        return Capture(evaluate=captures.compiled(node, position), secrecy=hidden)

    def _staged(self, index, node, kinds, hidden):
        named = [name for name, kind in kinds.items() if kind != NAMESPACE]
        position = {name: named.index(name) if name in named else _namespace_reader(name) for name in kinds}
        self.needs_namespace = self.needs_namespace or len(named) < len(kinds)
        call = ", ".join(["%s.stage(%d" % (self.hook, index)] + named) + ")"
        self.lines += ["try:", "    " + call, "except NameError:", "    pass"]
        return Capture(evaluate=captures.compiled(node, position), staged=True, secrecy=hidden)

    def _position(self, name, kind):
        if kind == ARGUMENT:
            if name not in self.arguments:
                self.arguments.append(name)
            return self.arguments.index(name)
        self.needs_namespace = True
        return _namespace_reader(name)

    def _kind(self, name):
        if not isinstance(self.spot.scope, trees.FUNCTIONS) or name in self.names.declared_global:
            return NAMESPACE
        if name in self.names.bound:
            return ARGUMENT if scopes.certainly_bound(self.spot, name, self.after, self.names) else STAGED
        return outer_kind(self.spot, name)

    def _mangle(self, node):
        """Spells private attributes as the compiler would."""
        owner = [item.name.lstrip("_") for item in self.spot.scopes if isinstance(item, _ast.ClassDef)]
        for part in trees.walk(node):
            if owner and owner[-1] and isinstance(part, _ast.Attribute) and part.attr.startswith("__") and not part.attr.endswith("__"):
                part.attr = "_%s%s" % (owner[-1], part.attr)

    def _statement(self):
        begin = [self.hook + ".begin()"] if self.lines else []
        call = "%s(%s)" % (self.hook, ", ".join(self.arguments))
        text = "".join("\n    " + line for line in begin + self.lines + [call])
        ours = "NameError, RecursionError, MemoryError" if SURVIVES_RECURSION else "NameError, MemoryError"
        source = "try:%s\nexcept (%s):\n    pass\n" % (text, ours)
        node = compile(source, "<injected>", "exec", 0x400, True).body[0]
        self._take_place(node)
        return node

    def namespaces(self):
        """The function that gives the dicts of the names that are not the function's own; None where none is needed."""
        if not self.needs_namespace:
            return None
        if isinstance(self.spot.scope, trees.FUNCTIONS):
            return _global_names
        return _all_names

    def keep_order(self, names):
        """Mentions variables in a branch that never runs, so that naming one early does not change their order.

        Before 3.10 the order is that of the compiled code, so there the branch must not be one that the compiler leaves out.
        """
        never = "0" if sys.version_info >= (3, 10) else self.hook + " is None"
        branch = compile("if %s:\n    %s,\n" % (never, ", ".join(names)), "<injected>", "exec", 0x400, True).body[0]
        self._take_place(branch)
        self.node.body.insert(0, branch)

    def _take_place(self, node):
        for part in trees.walk(node):
            if isinstance(part, (_ast.expr, _ast.stmt, _ast.excepthandler)):
                part.lineno = part.end_lineno = self.line
                part.col_offset = part.end_col_offset = self.column

    def insert(self):
        """Puts the statement into the tree; returns the list it went into."""
        block = self.spot.blocks[-1]
        where = [item is self.spot.statement for item in block.statements].index(True)
        block.statements.insert(where + 1 if self.after else where, self.node)
        return block.statements


def outer_kind(spot, name):
    """How a name that the function does not bind is read: as a variable of a function around it, or as a global."""
    for scope in reversed(spot.scopes[1:-1]):
        if isinstance(scope, trees.FUNCTIONS) and name in scopes.names_of(scope).bound:
            if name in scopes.used_inside(spot.scope):
                return STAGED
            reason = "`%s` belongs to the function `%s` around it and `%s` does not use it; to name it would keep it alive longer"
            raise captures.Refusal(reason % (name, scope.name, spot.scope.name), 0)
    return NAMESPACE


def _namespace_reader(name):
    def read(values):
        for names in values[-1]:
            if type(names) is dict:
                value = names.get(name, _MISSING)
                if value is not _MISSING:
                    return value
        raise Unreadable("NameError")

    return read


def _global_names(frame):
    return frame.f_globals, frame.f_builtins


def _all_names(frame):
    return frame.f_locals, frame.f_globals, frame.f_builtins
