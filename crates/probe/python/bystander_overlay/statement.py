"""The text and the nodes of the statement that goes into the program's code.

    try:
        __bystander_3__[0] = (a, b)
    except (NameError, RecursionError, MemoryError):
        pass

A subscript store into a published object, and no call: so a native object in its place adds no point at which the interpreter
may switch threads. A name that may have no value is tried first; where it has none, the published object stands for it. The
number in brackets says how many such failures are being handled around the store, which matters to who looks for the exception
that leaves the function. A negative number, `~n`, opens a stage: what `unsafe` expressions give follows by calls.
"""

import sys

import _ast

from bystander_overlay import tree as trees

HIDDEN = "__bystander_return__"
"""The one local variable that a probe may add to a function: the value that its `return` gives back."""
SURVIVES_RECURSION = sys.version_info >= (3, 9)
"""Before 3.9 the interpreter aborts when a RecursionError is swallowed and the recursion goes on; there it is the program's."""
INHERITS_LINES = sys.version_info >= (3, 10)
"""From 3.10 on a statement may have no line of its own: it takes that of what ran before it."""
TELLS_OF_HANDLERS = sys.version_info[:2] == (3, 9)
"""3.9 tells tracers of a line whenever an exception is caught, also where it is the line before."""
NO_LINE = -1
MOST_UNCERTAIN = 6
_AST_ONLY = 0x400
_EXPRESSION = "__bystander_expression_%d__"


class Form:
    """What all statements of one probe share: the published name, the arguments, the `unsafe` expressions, the guard."""

    def __init__(self, hook, arguments, expressions, guard):
        self.hook = hook
        self.arguments = arguments
        self.expressions = expressions
        self.guard = guard

    def node(self, uncertain, value, line, column):
        """Builds the statement for one site: which of the arguments may have no value there, and what the function gives back there."""
        node = _parsed(self._text(uncertain))
        for index, made in enumerate(self.expressions):
            if made is not None:
                exchange(node, _EXPRESSION % index, made)
        if value is not None:
            exchange(node, HIDDEN, value)
        return placed(node, line, column)

    def _text(self, uncertain):
        body = self._stores(uncertain, (), 0)
        if any(expression is not None for expression in self.expressions):
            body += self._stage()
        if self.guard is not None:
            body = ["if not %s:" % self.guard] + _deeper(body)
        ours = ["NameError"] + ["RecursionError"] * SURVIVES_RECURSION + ["MemoryError"] + ["AttributeError"] * (self.guard is not None)
        return "\n".join(["try:"] + _deeper(body) + ["except (%s):" % ", ".join(ours), "    pass", ""])

    def _stores(self, uncertain, missing, depth):
        if not uncertain:
            return [self._store(missing, depth)]
        name, rest = uncertain[0], uncertain[1:]
        without = self._stores(rest, missing + (name,), depth + 1)
        lines = ["try:", "    " + name, "except NameError:"] + _deeper(without) + ["else:"] + _deeper(self._stores(rest, missing, depth))
        # What the compiler adds behind a `try` has no line, and a tracer would hear of the line once more, but for the `pass`.
        return lines + ["pass"]

    def _store(self, missing, depth):
        values = [self.hook if name in missing else name for name in self.arguments]
        key = ~depth if any(expression is not None for expression in self.expressions) else depth
        return "%s[%d] = (%s)" % (self.hook, key, "".join(value + ", " for value in values))

    def _stage(self):
        lines = ["if %s.open():" % self.hook]
        for index, expression in enumerate(self.expressions):
            if expression is not None:
                stage = "    %s.stage(%d, %s)" % (self.hook, index, _EXPRESSION % index)
                lines += ["    try:", "        %s.start()" % self.hook, "    " + stage, "    except:", "        %s.fail(%d)" % (self.hook, index)]
        return lines + ["    %s.commit()" % self.hook]


def _deeper(lines):
    return ["    " + line for line in lines]


def _parsed(text):
    return compile(text, "<injected>", "exec", _AST_ONLY, True).body[0]


def exchange(node, name, made):
    """Puts a fresh expression wherever a name is read below a node."""
    for part in list(trees.walk(node)):
        for field in part._fields:
            value = getattr(part, field, None)
            if _reads(value, name):
                setattr(part, field, made())
            elif isinstance(value, list):
                value[:] = [made() if _reads(item, name) else item for item in value]


def _reads(node, name):
    return isinstance(node, _ast.Name) and node.id == name and isinstance(node.ctx, _ast.Load)


def ours(node):
    """Marks a statement as put in by a probe, for other probes that look at the tree meanwhile."""
    node.bystander = True
    return node


def placed(node, line, column):
    """Gives a node and all below it one position."""
    for part in trees.walk(node):
        if isinstance(part, (_ast.expr, _ast.stmt, _ast.excepthandler)) or type(part).__name__ in ("MatchAs", "arg", "keyword", "alias"):
            part.lineno = part.end_lineno = line
            part.col_offset = part.end_col_offset = column
    return node


def mention(hook, names, line, column):
    """A branch that never runs and mentions variables, so that naming one early does not change their order.

    Before 3.10 the order is that of the compiled code, so there the branch must not be one that the compiler leaves out.
    """
    never = "0" if sys.version_info >= (3, 10) else hook + " is None"
    return placed(_parsed("if %s:\n    %s,\n" % (never, ", ".join(names))), line, column)


def guarded_mention(hook, names, line, column):
    """The same where no `try` of a statement is around it."""
    node = placed(_parsed("try:\n    pass\nexcept BaseException:\n    pass\n"), line, column)
    node.body = [mention(hook, names, line, column)]
    return node


def assignment(value, line, column):
    """Keeps the value of a `return` in the hidden variable; the value keeps its position."""
    node = placed(_parsed("%s = None" % HIDDEN), line, column)
    node.value = value
    return node


def bare_return(line, column):
    """A `return` without a value."""
    return placed(compile("def f():\n    return", "<injected>", "exec", _AST_ONLY, True).body[0].body[0], line, column)


def expression(text):
    """Parses an expression."""
    return compile(text, "<injected>", "eval", _AST_ONLY, True).body


def handler(line, column):
    """`try: pass` with `except: raise`, whose body and whose statement before the `raise` are still to come."""
    return placed(_parsed("try:\n    pass\nexcept:\n    raise\n"), line, column)


def last_case(body, line, column):
    """`case _:` with a body."""
    match = _parsed("match 0:\n    case _:\n        pass\n")
    case = placed(match.cases[0], line, column)
    case.body = body
    return case
