"""One captured expression, or the condition, at one place: where its names come from, and its evaluation in plain Python.

A native recorder compiles the same from `node`, `roots` and `secrecy`.
"""

from bystander_overlay import capture as captures
from bystander_overlay import encode as encoding
from bystander_overlay.reading import Unreadable
from bystander_overlay.secret import ALWAYS, NEVER, TEXT_ONLY
from bystander_overlay.trouble import belongs_to_program

ARGUMENT, NAMESPACE, RAISED = "argument", "namespace", "raised"
"""Where a name comes from: the tuple that is stored, a dict of the module (or class) around, the exception being handled."""
_MISSING = object()


class Capture:
    """An expression as the hit path needs it.

    `node` is its tree, private attributes spelled as the compiler would; None where nothing may be evaluated. `roots` maps each
    name to `(ARGUMENT, index)`, `(NAMESPACE, None)` or `(RAISED, None)`. `staged` ones are evaluated by the program's own code.
    """

    def __init__(self, text, node=None, roots=None, secrecy=NEVER, staged=False):
        self.text = text
        self.node = node
        self.roots = roots or {}
        self.secrecy = secrecy
        self.staged = staged
        self.argument = None
        self.evaluate = None

    def prepare(self, unbound):
        """Builds the evaluation; `unbound(value)` tells whether an argument stands for a name without a value."""
        if self.node is None or self.staged:
            return
        position = {name: _reader(name, kind, index, unbound) for name, (kind, index) in self.roots.items()}
        if type(self.node).__name__ == "Name" and self.roots[self.node.id][0] == ARGUMENT:
            self.argument = self.roots[self.node.id][1]
        self.evaluate = captures.compiled(self.node, position)

    def encoded(self, values):
        """Evaluates and encodes; what fails is a value that says so."""
        if self.secrecy == ALWAYS:
            return encoding.redacted()
        try:
            return self.shown(self.evaluate(values))
        except Unreadable as error:
            return encoding.error(error.word)
        except Exception as error:
            if belongs_to_program(error):
                raise
            return encoding.error(type(error).__name__)

    def holds(self, values):
        """Evaluates as a condition; raises what the expression raises."""
        return captures.truth(self.evaluate(values))

    def shown(self, value):
        """Encodes a value as far as its name permits."""
        if self.secrecy == ALWAYS:
            return encoding.redacted()
        if self.secrecy == TEXT_ONLY:
            kind = type(value)
            if not (kind is int or kind is float or kind is bool or value is None):
                return encoding.redacted()
        return encoding.encode(value)


def _reader(name, kind, index, unbound):
    if kind == NAMESPACE:
        return _namespace_reader(name)
    if kind == RAISED:
        return _raised
    if unbound is None:
        return index

    def read(values):
        value = values[index]
        if unbound(value):
            raise Unreadable("NameError")
        return value

    return read


def _raised(values):
    return values[-2]


def _namespace_reader(name):
    def read(values):
        for names in values[-1]:
            if type(names) is dict:
                value = names.get(name, _MISSING)
                if value is not _MISSING:
                    return value
        raise Unreadable("NameError")

    return read
