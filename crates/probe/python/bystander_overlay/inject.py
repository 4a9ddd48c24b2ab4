"""From a probe and its site to the statements that go into the program's code, and to what is done with each store.

What others compile from (a native recorder does) is all here: `hook`, the published name; `arguments`, what the tuple holds, with
`HIDDEN` for the value of a `return`; `captures` and `condition`, each with its tree and the origin of its names; `uncertain`, the
arguments that may have no value, for which the published object itself then stands; `whole_namespace`, whether names that are no
arguments are looked for in the frame's locals first (a module or a class) or only in its globals and builtins (a function).
"""

import _ast

from bystander_overlay import capture as captures
from bystander_overlay import ends
from bystander_overlay import scope as scopes
from bystander_overlay import statement as statements
from bystander_overlay import tails
from bystander_overlay import tree as trees
from bystander_overlay.captured import ARGUMENT, NAMESPACE, RAISED, Capture
from bystander_overlay.place import RAISE, RETURN
from bystander_overlay.secret import ALWAYS
from bystander_overlay.statement import HIDDEN, INHERITS_LINES, NO_LINE
from bystander_overlay.words import RAISE as RAISE_WORD
from bystander_overlay.words import RETURN as RETURN_WORD
from bystander_overlay.words import is_word


class Injection:
    """The statements for one probe, at one site or at all the ends of a function, and what the hook needs to know."""

    def __init__(self, probe, site, guard=None):
        self.site = site
        self.spot = site.spot
        self.moment = site.moment
        self.scope = site.function or site.spot.scope
        self.scopes = site.spot.scopes
        self.names = scopes.names_of(self.scope)
        self.hook = "__bystander_%d__" % probe["index"]
        self.whole_namespace = not isinstance(self.scope, trees.FUNCTIONS)
        self.arguments = []
        self.uncertain = set()
        self.armed = None
        self.start_line = self.end_line = None
        self.order = ()
        expressions = list(probe["capture"]) + ([probe["rank"]] if probe["rank"] is not None else [])
        self.captures = [self._capture(text, probe["unsafe"]) for text in expressions]
        condition = probe.get("condition")
        self.condition = self._capture(condition, False, is_condition=True) if condition is not None else None
        makers = [self._unsafe(item) if item.staged else None for item in self.captures]
        self.form = statements.Form(self.hook, [self._spelled(name) for name in self.arguments], makers, guard)
        self._judge()
        for item in self.captures + [self.condition] * (condition is not None):
            item.prepare(self._stands_for_nothing if self.uncertain else None)

    def _capture(self, text, unsafe, is_condition=False):
        node = captures.parse(text)
        if is_condition:
            captures.check_condition(node)
        hidden = captures.secrecy_of(node)
        check_words(node, self.moment)
        if hidden == ALWAYS and not is_condition:
            return Capture(text, secrecy=hidden)
        if unsafe:
            return Capture(text, node, secrecy=hidden, staged=True)
        self._mangle(node)
        return Capture(text, node, {name: self._origin(name) for name in captures.roots(node)}, hidden)

    def _origin(self, name):
        if name == RAISE_WORD:
            return RAISED, None
        is_local = not self.whole_namespace and name not in self.names.declared_global
        if name == RETURN_WORD or (is_local and (name in self.names.bound or outer_kind(self._inner_scopes(), name) == ARGUMENT)):
            if name not in self.arguments:
                self.arguments.append(name)
            return ARGUMENT, self.arguments.index(name)
        return NAMESPACE, None

    def _inner_scopes(self):
        """The scopes around the place, its own last."""
        return self.scopes[: [scope is self.scope for scope in self.scopes].index(True) + 1]

    def _spelled(self, name):
        return HIDDEN if name == RETURN_WORD else name

    def _mangle(self, node):
        """Spells private attributes as the compiler would."""
        owner = [item.name.lstrip("_") for item in self._inner_scopes() if isinstance(item, _ast.ClassDef)]
        for part in trees.walk(node):
            if owner and owner[-1] and isinstance(part, _ast.Attribute) and part.attr.startswith("__") and not part.attr.endswith("__"):
                part.attr = "_%s%s" % (owner[-1], part.attr)

    def _unsafe(self, item):
        """Makes fresh trees of an `unsafe` expression, its words exchanged for what gives their values."""

        def made():
            holder = _ast.Expr(captures.parse(item.text))
            statements.exchange(holder, RETURN_WORD, lambda: statements.expression(HIDDEN))
            statements.exchange(holder, RAISE_WORD, lambda: statements.expression(self.hook + ".raised()"))
            return holder.value

        return made

    def is_staged(self):
        """Tells whether expressions are evaluated by the program's own code."""
        return any(item.staged for item in self.captures)

    def reads_raised(self):
        """Tells whether the exception being handled is asked for."""
        every = self.captures + ([self.condition] if self.condition is not None else [])
        return any(kind == RAISED for item in every for kind, _ in item.roots.values())

    def namespaces(self):
        """The function that gives the dicts of the names that are not arguments; None where none is needed."""
        every = self.captures + ([self.condition] if self.condition is not None else [])
        if not any(kind == NAMESPACE for item in every for kind, _ in item.roots.values()):
            return None
        return _all_names if self.whole_namespace else _global_names

    def _stands_for_nothing(self, value):
        return value is self.armed

    def _judge(self):
        """Finds out which arguments may have no value at some of the sites."""
        spots = [(self.spot, self.site.after)]
        if self.moment == RETURN:
            near = [(statement, False) for statement, _ in ends.returns(self.scope)]
            near += [(point.near, point.after) for point in tails.points(self.scope)]
            spots = [(spot, after) for statement, after in near for spot in [self._spot_of(statement)]]
        for spot, after in spots:
            found = self._uncertain_at(spot, after)
            if len(found) > statements.MOST_UNCERTAIN:
                words = "%d of the captured names may have no value there, and at most %d can be told: `%s`"
                raise captures.Refusal(words % (len(found), statements.MOST_UNCERTAIN, "`, `".join(found)), 0)
            self.uncertain.update(found)

    def _uncertain_at(self, spot, after):
        """The arguments that may have no value at a spot."""
        own = self.names.bound
        names = [name for name in self.arguments if name != RETURN_WORD]
        return [name for name in names if name not in own or not scopes.certainly_bound(spot, name, after, self.names)]

    def _spot_of(self, statement):
        for spot in trees.spots(self.scope, self._inner_scopes()):
            if spot.statement is statement:
                return spot
        raise captures.Refusal("the statement at %s is gone" % getattr(statement, "lineno", None), 0)

    def see(self, code):
        """Takes from the function's own code what a rewritten one must keep: the line at its end, the order of its variables."""
        if not INHERITS_LINES:
            self.start_line, self.end_line = _outer_lines(code)

    def keep_order(self, names):
        """Has the variables of the function mentioned first, in their order."""
        self.order = tuple(names)

    def insert(self):
        """Puts the statements into the tree; returns the functions that take them out, to be called last to first."""
        if self.moment == RETURN:
            return self._insert_at_returns()
        if self.moment == RAISE:
            return self._wrap()
        block = self.spot.blocks[-1].statements
        column = getattr(self.spot.statement, "col_offset", 0)
        line = self.site.line if self.site.after else trees.first_run_line(self.spot.statement)
        if INHERITS_LINES and self.site.after and trees.is_docstring(self.spot.statement):
            line = column = NO_LINE  # A docstring has no code, and so no line of its own.
        node = self._node(self.spot, self.site.after, None, line, column)
        return [tails.inserted(block, self.spot.statement, self.site.after, [node])]

    def _node(self, spot, after, value, line, column):
        node = self.form.node([name for name in self._uncertain_at(spot, after)], value, line, column)
        if self.order:
            node.body.insert(0, statements.mention(self.hook, self.order, line, column))
        return statements.ours(node)

    def _insert_at_returns(self):
        undo = []
        points = tails.points(self.scope)
        spots = [self._spot_of(point.near) for point in points]
        for statement, block in ends.returns(self.scope):
            undo += self._insert_at_return(statement, block)
        for point, spot in zip(points, spots):
            line = point.line if INHERITS_LINES else self.end_line
            nodes = [self._node(spot, point.after, _none, line, NO_LINE if line == NO_LINE else 0)]
            if INHERITS_LINES:
                nodes.append(_return_at(point))
            undo.append(point.insert(nodes))
        return undo

    def _insert_at_return(self, statement, block):
        line, column = statement.lineno, statement.col_offset
        spot, value = self._spot_of(statement), statement.value
        simple = self._simple(spot, value)
        if simple is not None:
            return [tails.inserted(block, statement, False, [self._node(spot, False, simple, getattr(value, "lineno", line), column)])]
        keep = statements.ours(statements.assignment(value, line, column))
        nodes = self._order_before(line) + [keep, self._node(spot, False, None, line, column)]
        undo = [tails.inserted(block, statement, False, nodes)]
        statement.value = statements.placed(statements.expression(HIDDEN), line, column)

        def restore():
            statement.value = value

        return [restore] + undo

    def _order_before(self, line):
        """Mentions the variables before the hidden one, which would else come before those that are bound further down."""
        if not self.order:
            return []
        line = NO_LINE if INHERITS_LINES else line
        return [statements.ours(statements.guarded_mention(self.hook, self.order, line, NO_LINE if line == NO_LINE else 0))]

    def _simple(self, spot, value):
        """Makes the value of a `return` again where that can be read twice: a constant, a variable that has a value; else None."""
        if value is None:
            return _none
        if isinstance(value, _ast.Constant):
            return lambda: _ast.Constant(value.value)
        if isinstance(value, _ast.Name):
            hidden = value.id == HIDDEN
            if hidden or (value.id in self.names.bound and scopes.certainly_bound(spot, value.id, False, self.names)):
                return lambda: statements.expression(value.id)
        return None

    def _line_of_handler(self):
        """None of its own; before 3.10 that of the code before it, but 3.9 tells tracers of a line there, so it is one that did run."""
        if INHERITS_LINES:
            return NO_LINE
        return self.scope.lineno if statements.TELLS_OF_HANDLERS else self.end_line

    def _wrap(self):
        """Puts the body of the function, its docstring left out, into a `try` whose `except` stores and raises again."""
        body = self.scope.body
        start = 1 if trees.is_docstring(body[0]) else 0
        wrapped = body[start:]
        if not wrapped:  # Nothing in the function can raise.
            return []
        line = self._line_of_handler()
        column = NO_LINE if INHERITS_LINES else 0
        undo = []
        if INHERITS_LINES:
            for point in tails.points(self.scope):
                undo.append(point.insert([_return_at(point)]))
        wrapped = body[start:]
        node = statements.ours(statements.handler(line, column))
        node.handlers[0].body.insert(0, self._node(self.spot, False, None, line, column))
        if not INHERITS_LINES:
            node.lineno = node.end_lineno = self.start_line
        node.body = wrapped
        body[start:] = [node]

        def unwrap():
            body[start:] = wrapped

        return undo + [unwrap]


def _return_at(point):
    line = point.return_line
    return statements.ours(statements.bare_return(line, NO_LINE if line == NO_LINE else 0))


def _none():
    return _ast.Constant(None)


def check_words(node, moment):
    """Refuses the words `return` and `raise` where they have no meaning."""
    for part in trees.walk(node):
        if isinstance(part, _ast.Name) and is_word(part.id) and part.id != moment:
            raise captures.Refusal("`%s` has a value only at `@%s` of a function" % (part.id, part.id), part.col_offset)


def outer_kind(inside, name):
    """How a name that a function does not bind is read: as a variable of a function around it, or as a global."""
    function = inside[-1]
    for scope in reversed(inside[1:-1]):
        if isinstance(scope, trees.FUNCTIONS) and name in scopes.names_of(scope).bound:
            if name in scopes.used_inside(function):
                return ARGUMENT
            reason = "`%s` belongs to the function `%s` around it and `%s` does not use it; to name it would keep it alive longer"
            raise captures.Refusal(reason % (name, scope.name, function.name), 0)
    return NAMESPACE


def _global_names(frame):
    return frame.f_globals, frame.f_builtins


def _all_names(frame):
    return frame.f_locals, frame.f_globals, frame.f_builtins


def _outer_lines(code):
    """The lines of the first and of the last instruction."""
    table = code.co_lnotab
    first = last = code.co_firstlineno
    at_start = True
    for advance, delta in zip(table[::2], table[1::2]):
        last += delta - 256 if delta > 127 else delta
        at_start = at_start and advance == 0
        first = last if at_start else first
    return first, last
