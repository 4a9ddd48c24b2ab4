"""What may be captured: the check of an expression, and its evaluation, which cannot run code of the program.

Names, attributes, items by constant, comparisons, `and`/`or`/`not`, arithmetic on exact numbers, `len`, constants.
"""

import _ast

from bystander_overlay import reading, words
from bystander_overlay.reading import Unreadable
from bystander_overlay.secret import ALWAYS, NEVER, secrecy
from bystander_overlay.tree import children

_SCALARS = (int, float, bool, str, bytes, type(None))
_NUMBERS = (int, float, bool)
_INT_BITS = 4096
_LONGEST = 4096
_DEEPEST = 64
_TOO_DEEP = "it is nested too deep: at most %d operations one inside the other" % _DEEPEST
_REASONS = {
    "Call": "a call runs code of the program",
    "Lambda": "a lambda runs code of the program",
    "ListComp": "a comprehension runs code of the program",
    "SetComp": "a comprehension runs code of the program",
    "DictComp": "a comprehension runs code of the program",
    "GeneratorExp": "a comprehension runs code of the program",
    "NamedExpr": "an assignment changes the program",
    "Await": "`await` gives control away",
    "Yield": "`yield` gives control away",
    "YieldFrom": "`yield` gives control away",
    "JoinedStr": "an f-string runs code of the program",
    "Starred": "a star runs code of the program",
}


class Refusal(Exception):
    """An expression that is not captured; `offset` counts UTF-8 bytes from its start."""

    def __init__(self, reason, offset):
        Exception.__init__(self, reason)
        self.reason = reason
        self.offset = offset


def parse(text):
    """Parses an expression; the words `return` and `raise` in it are names."""
    if len(text) > _LONGEST:
        raise Refusal("it is too long: at most %d characters" % _LONGEST, 0)
    text, names = words.exchanged(text.strip())
    try:
        node = compile(text, "<capture>", "eval", 0x400, True).body
        _check_depth(node)
        return words.restored(node, names)
    except (RecursionError, MemoryError):
        raise Refusal(_TOO_DEEP, 0)
    except (SyntaxError, ValueError) as error:
        raise Refusal("not an expression: %s" % getattr(error, "msg", error), max(0, (getattr(error, "offset", 1) or 1) - 1))


def _check_depth(node):
    pending = [(node, 1)]
    while pending:
        part, depth = pending.pop()
        if depth > _DEEPEST:
            raise Refusal(_TOO_DEEP, 0)
        pending.extend((child, depth + 1) for child in children(part))


def names_in(node):
    """The names that an expression reads, in the order of the text, each once; comprehension variables are among them."""
    found = []
    if isinstance(node, _ast.Name):
        return [node.id]
    for item in children(node):
        found += [name for name in names_in(item) if name not in found]
    return found


def roots(node):
    """The names whose values an evaluation needs: `len` is not one of them where it is called."""
    if isinstance(node, _ast.Call):
        return roots(node.args[0])
    if isinstance(node, _ast.Name):
        return [node.id]
    found = []
    for item in children(node):
        found += [name for name in roots(item) if name not in found]
    return found


def secrecy_of(node):
    """Tells how much of an expression's value must be withheld: what the most secret name in it, an attribute or a key too, demands."""
    return max([NEVER] + [found for found, _ in _secrets(node)])


def _secrets(node):
    """Yields how secret each name of an expression is, with its node; whether something is None is nobody's secret."""
    if isinstance(node, _ast.Compare) and all(isinstance(item, (_ast.Is, _ast.IsNot)) for item in node.ops):
        if all(isinstance(item, _ast.Constant) and item.value is None for item in node.comparators):
            return
    if isinstance(node, (_ast.Name, _ast.Attribute)):
        yield secrecy(node.id if isinstance(node, _ast.Name) else node.attr), node
    elif isinstance(node, _ast.Subscript) and type(_constant(_index(node))) is str:
        yield secrecy(_constant(_index(node))), node
    for child in children(node):
        for found in _secrets(child):
            yield found


def check_condition(node):
    """Refuses a condition that would tell something of a secret by whether it holds."""
    for found, part in _secrets(node):
        if found == ALWAYS:
            raise Refusal("the name looks like that of a secret, and whether the condition holds would tell of it", part.col_offset)


def compiled(node, position):
    """Checks an expression and returns its evaluation, a function of a tuple: `position[name]` is an index into it or a reader of it."""
    build = _BUILDERS.get(type(node).__name__)
    if build is None:
        kind = type(node).__name__
        raise Refusal(_REASONS.get(kind, "`%s` is not among what can be captured" % kind), node.col_offset)
    return build(node, position)


def _name(node, position):
    found = position[node.id]
    return (lambda values: values[found]) if type(found) is int else found


def _constant_node(node, position):
    value = node.value
    if type(value) not in _SCALARS:
        raise Refusal("only plain constants can be captured", node.col_offset)
    return lambda values: value


def _attribute(node, position):
    owner, name = compiled(node.value, position), node.attr
    return lambda values: reading.attribute(owner(values), name)


def _index(node):
    index = node.slice
    return index.value if type(index).__name__ == "Index" else index


_NOT_CONSTANT = object()


def _constant(node):
    if isinstance(node, _ast.Constant):
        return node.value
    if isinstance(node, _ast.UnaryOp) and isinstance(node.op, _ast.USub) and isinstance(node.operand, _ast.Constant):
        return -node.operand.value if type(node.operand.value) in (int, float) else _NOT_CONSTANT
    return _NOT_CONSTANT


def _subscript(node, position):
    key = _constant(_index(node))
    if key is _NOT_CONSTANT or type(key) not in _SCALARS:
        raise Refusal("an item can only be taken by a constant", node.col_offset)
    owner = compiled(node.value, position)
    return lambda values: reading.item(owner(values), key)


def _call(node, position):
    plain = isinstance(node.func, _ast.Name) and node.func.id == "len" and len(node.args) == 1 and not node.keywords
    if not plain or isinstance(node.args[0], _ast.Starred):
        raise Refusal(_REASONS["Call"], node.col_offset)
    inner = compiled(node.args[0], position)
    return lambda values: reading.length(inner(values))


def truth(value):
    """The truth of a plain value or of an exact container; raises `Unreadable` for anything else."""
    if _is_exact(value, _SCALARS):
        return bool(value)
    return reading.length(value) > 0


def _bool(node, position):
    parts = [compiled(part, position) for part in node.values]
    stop = isinstance(node.op, _ast.Or)

    def evaluate(values):
        for part in parts:
            value = part(values)
            if truth(value) is stop:
                break
        return value

    return evaluate


def _unary(node, position):
    operand = compiled(node.operand, position)
    if isinstance(node.op, _ast.Not):
        return lambda values: not truth(operand(values))
    if isinstance(node.op, _ast.USub):
        return lambda values: -_number(operand(values))
    if isinstance(node.op, _ast.UAdd):
        return lambda values: +_number(operand(values))
    raise Refusal("`~` is not among what can be captured", node.col_offset)


_OPERATORS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
}
_COMPARISONS = {
    "Eq": lambda a, b: a == b,
    "NotEq": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
}


def _binary(node, position):
    operator = _OPERATORS.get(type(node.op).__name__)
    if operator is None:
        raise Refusal("only + - * / // % can be captured", node.col_offset)
    left, right = compiled(node.left, position), compiled(node.right, position)
    return lambda values: operator(_number(left(values)), _number(right(values)))


def _compare(node, position):
    steps = []
    for operation, part in zip(node.ops, node.comparators):
        kind = type(operation).__name__
        if kind not in _COMPARISONS and kind not in ("Is", "IsNot"):
            raise Refusal("`in` may run code of the program", node.col_offset)
        steps.append((kind, compiled(part, position)))
    first = compiled(node.left, position)

    def evaluate(values):
        left = first(values)
        for kind, part in steps:
            right = part(values)
            if kind == "Is" or kind == "IsNot":
                holds = (left is right) == (kind == "Is")
            else:
                holds = _COMPARISONS[kind](_scalar(left), _scalar(right))
            if not holds:
                return False
            left = right
        return True

    return evaluate


def _is_exact(value, kinds):
    kind = type(value)
    for known in kinds:
        if kind is known:
            return True
    return False


def _scalar(value):
    if not _is_exact(value, _SCALARS):
        raise Unreadable("NotAPlainValue")
    return value


def _number(value):
    if not _is_exact(value, _NUMBERS):
        raise Unreadable("NotANumber")
    if type(value) is int and value.bit_length() > _INT_BITS:
        raise Unreadable("TooLarge")
    return value


_BUILDERS = {
    "Name": _name,
    "Constant": _constant_node,
    "Attribute": _attribute,
    "Subscript": _subscript,
    "Call": _call,
    "BoolOp": _bool,
    "UnaryOp": _unary,
    "BinOp": _binary,
    "Compare": _compare,
}
