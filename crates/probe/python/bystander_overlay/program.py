"""Compiles an expression to the steps that the native recorder evaluates: the same language as `capture.py`, the same answers.

A step is four bytes: the operation, a byte that refines it, and a number of 16 bits. What cannot be said in steps is
`Inexpressible`, and its probe is served by plain Python.
"""

import sys

import _ast
from _struct import Struct

from bystander_overlay.captured import ARGUMENT, NAMESPACE, RAISED
from bystander_overlay.secret import ALWAYS, NEVER, TEXT_ONLY

(
    _ARGUMENT, _CONSTANT, _GLOBAL, _LOCAL, _ATTRIBUTE, _ITEM, _LENGTH, _NOT, _SIGN, _NUMBER, _ARITHMETIC, _KEEP, _COMPARE, _CHAIN, _RAISED,
) = range(1, 16)  # fmt: skip
_OPERATORS = ("Add", "Sub", "Mult", "Div", "FloorDiv", "Mod")
_COMPARISONS = ("Lt", "LtE", "Eq", "NotEq", "Gt", "GtE", "Is", "IsNot")
_PLAIN = (int, float, bool, str, bytes, type(None))
_DEEPEST = 16
_MOST = 65535
_step = Struct("<BBH").pack


class Inexpressible(Exception):
    """An expression that the native recorder cannot evaluate as Python would."""


class Constants:
    """The constants of all programs of one probe, each type and value once."""

    def __init__(self):
        self.values = []
        self.places = {}

    def place(self, value):
        """The number of a constant."""
        if type(value) is str:
            value = sys.intern(value)
        # Equal floats may differ in sign, and equal numbers in type.
        key = type(value), repr(value) if type(value) is float else value
        if key not in self.places:
            self.places[key] = len(self.values)
            self.values.append(value)
        return self.places[key]


class _Builder:
    """One program in the making: its steps so far, and how many values lie on the stack."""

    def __init__(self, roots, constants, names_are_local):
        self.roots = roots
        self.constants = constants
        self.names_are_local = names_are_local
        self.steps = []
        self.depth = 0

    def emit(self, operation, number=0, detail=0, change=0):
        """Adds a step that leaves `change` more values on the stack."""
        self.depth += change
        if self.depth > _DEEPEST or number > _MOST or len(self.steps) >= _MOST:
            raise Inexpressible("too large")
        self.steps.append([operation, detail, number])

    def jump_from(self, places):
        """Lets the jumps at some places lead to the next step."""
        for place in places:
            self.steps[place][2] = len(self.steps)

    def build(self, node):
        """Adds the steps of an expression, which leave its value on the stack."""
        build = _BUILDERS.get(type(node).__name__)
        if build is None:
            raise Inexpressible(type(node).__name__)
        build(self, node)

    def constant(self, value):
        """The number of a constant, which must be a plain value."""
        if not any(type(value) is kind for kind in _PLAIN):
            raise Inexpressible("a constant")
        return self.constants.place(value)

    def done(self):
        """The bytes of the program."""
        if self.depth != 1:
            raise Inexpressible("an unbalanced stack")
        return b"".join(_step(*step) for step in self.steps)


def _name(builder, node):
    kind, index = builder.roots[node.id]
    if kind == ARGUMENT:
        builder.emit(_ARGUMENT, index, change=1)
    elif kind == RAISED:
        builder.emit(_RAISED, change=1)
    elif kind == NAMESPACE:
        builder.emit(_LOCAL if builder.names_are_local else _GLOBAL, builder.constant(node.id), change=1)
    else:
        raise Inexpressible(kind)


def _constant(builder, node):
    builder.emit(_CONSTANT, builder.constant(node.value), change=1)


def _attribute(builder, node):
    builder.build(node.value)
    builder.emit(_ATTRIBUTE, builder.constant(node.attr))


def _subscript(builder, node):
    key = node.slice
    if isinstance(key, _ast.Constant):
        key = key.value
    elif isinstance(key, _ast.UnaryOp) and isinstance(key.op, _ast.USub) and isinstance(key.operand, _ast.Constant):
        key = -key.operand.value
    else:
        raise Inexpressible("an item")
    builder.build(node.value)
    builder.emit(_ITEM, builder.constant(key))


def _call(builder, node):
    if not (isinstance(node.func, _ast.Name) and node.func.id == "len" and len(node.args) == 1 and not node.keywords):
        raise Inexpressible("a call")
    builder.build(node.args[0])
    builder.emit(_LENGTH)


def _bool(builder, node):
    jumps = []
    for part in node.values[:-1]:
        builder.build(part)
        jumps.append(len(builder.steps))
        builder.emit(_KEEP, detail=int(isinstance(node.op, _ast.Or)), change=-1)
    builder.build(node.values[-1])
    builder.jump_from(jumps)


def _unary(builder, node):
    builder.build(node.operand)
    if isinstance(node.op, _ast.Not):
        builder.emit(_NOT)
    elif isinstance(node.op, (_ast.USub, _ast.UAdd)):
        builder.emit(_SIGN, detail=int(isinstance(node.op, _ast.USub)))
    else:
        raise Inexpressible("a sign")


def _binary(builder, node):
    name = type(node.op).__name__
    if name not in _OPERATORS:
        raise Inexpressible(name)
    builder.build(node.left)
    builder.emit(_NUMBER)
    builder.build(node.right)
    builder.emit(_ARITHMETIC, detail=_OPERATORS.index(name), change=-1)


def _compare(builder, node):
    builder.build(node.left)
    jumps = []
    last = len(node.ops) - 1
    for place, (operation, part) in enumerate(zip(node.ops, node.comparators)):
        name = type(operation).__name__
        if name not in _COMPARISONS:
            raise Inexpressible(name)
        builder.build(part)
        if place < last:
            jumps.append(len(builder.steps))
        builder.emit(_CHAIN if place < last else _COMPARE, detail=_COMPARISONS.index(name), change=-1)
    builder.jump_from(jumps)


_BUILDERS = {
    "Name": _name,
    "Constant": _constant,
    "Attribute": _attribute,
    "Subscript": _subscript,
    "Call": _call,
    "BoolOp": _bool,
    "UnaryOp": _unary,
    "BinOp": _binary,
    "Compare": _compare,
}


def program(capture, constants, names_are_local):
    """Compiles the expression of a `Capture`."""
    builder = _Builder(capture.roots, constants, names_are_local)
    builder.build(capture.node)
    return builder.done()


def part(capture, constants, names_are_local):
    """What the recorder takes for a capture: an argument's index, a program, one in a tuple that shows numbers only, None for a secret."""
    if capture.secrecy == ALWAYS:
        return None
    if capture.staged or capture.node is None:
        raise Inexpressible("an unsafe expression")
    if capture.secrecy == NEVER and capture.argument is not None:
        return capture.argument
    made = program(capture, constants, names_are_local)
    return (made,) if capture.secrecy == TEXT_ONLY else made
