"""From the source of a probed file to code with probes in it, compiled by the running interpreter.

What does not work is noted in the process's record and leaves the program with its own code. Does not know how a hit is stored.
"""

import builtins
import os
import sys

import _ast
import _frozen_importlib_external as _external

from bystander_overlay import compiled as compilers
from bystander_overlay import hook as hooks
from bystander_overlay import native as natives
from bystander_overlay import place as places
from bystander_overlay import staging
from bystander_overlay import tree as trees
from bystander_overlay.capture import Refusal
from bystander_overlay.gate import Gate
from bystander_overlay.inject import Injection
from bystander_overlay.ring import Ring
from bystander_overlay.statement import HIDDEN

COMPREHENSIONS_INSIDE = sys.version_info >= (3, 12)
_AST_ONLY = 0x400
_ENDLESS = 1 << 62
_STANDARD = _external.SourceLoader.source_to_code, _external.SourceFileLoader.source_to_code


class Rewriter:
    """Rewrites the probed files of this process and keeps their hooks."""

    def __init__(self, overlay, compiler):
        self.record = overlay.record
        self.targets = overlay.plan.TARGETS
        self.probes = overlay.plan.PROBES
        self.compile = compiler
        self.native = natives.native(getattr(overlay, "library", None), self.probes)
        self.ring = None
        self.injections = {}
        self.costs = {}

    def module(self, loader, path):
        """The rewritten code of a module, or None where its own code has to do."""
        data = loader.get_data(path)
        if type(loader).source_to_code not in _STANDARD:
            return loader.source_to_code(data, path) if self._can_place(data, path) else None
        return self._rewritten(data, path, 0, {"dont_inherit": True, "optimize": -1})

    def script(self, path, name):
        """The rewritten code of a script under the name that the interpreter gives it."""
        with open(path, "rb") as file:
            data = file.read()
        line = trees.undecodable_line(data)
        if line is not None:
            for probe in self._probes_of(path):
                self._refuse(probe, "line %d is not UTF-8, and the file declares no other encoding" % line)
            return None
        return self._rewritten(data, name, 0, {"dont_inherit": True}, real=path)

    def source(self, filename, inherited, args, keywords):
        """The result of a `compile` call for a probed file, or None where the call is not to be rewritten."""
        call = dict(zip(("source", "filename", "mode", "flags", "dont_inherit", "optimize"), args))
        call.update(keywords)
        source, flags = call.pop("source"), call.pop("flags", 0)
        if call.pop("mode") != "exec" or flags & _AST_ONLY:
            return None
        call.pop("filename")
        call["dont_inherit"] = True
        if isinstance(source, _ast.AST):
            return self._rewritten_tree(source, filename, flags | inherited, call)
        return self._rewritten(source, filename, flags | inherited, call)

    def forked(self, reason=None):
        """Gives a forked child a ring of its own and hooks that write to it; hooks that do nothing where there is a `reason` against it."""
        self.ring = None
        if self.native is not None:
            self.native.forked()
        for index, injection in list(self.injections.items()):
            try:
                if reason is None:
                    self._arm(index, injection)
                else:
                    self._disarm(index, injection, reason)
            except OSError as error:
                self._disarm(index, injection, error.strerror)

    def _disarm(self, index, injection, reason):
        """Leaves the ring of the parent alone, and says so where it can."""
        injection.armed = hooks.nothing()
        setattr(builtins, injection.hook, injection.armed)
        try:
            self.record.tell("lost", index, "no room for a ring in shared memory: %s" % reason)
        except OSError:  # There is no room for a record either.
            pass

    def count_fork(self):
        """Counts a fork of this process in its ring; false where there is none."""
        if self.ring is not None:
            self.ring.count_fork()
            return True
        return self.native is not None and self.native.count_fork()

    def _probes_of(self, path):
        indices = self.targets.get(path) or self.targets.get(os.path.realpath(path)) or ()
        return [self.probes[index] for index in indices]

    def _can_place(self, data, path):
        try:
            tree = self.compile(data, path, "exec", _AST_ONLY, True)
        except SyntaxError:
            return False
        return bool(self._sites(tree, self._probes_of(path)))

    def _rewritten(self, source, filename, flags, call, real=None):
        tree = self.compile(source, filename, "exec", flags | _AST_ONLY, **call)
        found = self._sites(tree, self._probes_of(real or filename))
        return self._compiled(tree, self._injections(tree, found), filename, flags, call)

    def _rewritten_tree(self, tree, filename, flags, call):
        """Rewrites a tree that another tool made of the file: the place is found in the file and carried over."""
        with open(filename, "rb") as file:
            pristine = self.compile(file.read(), filename, "exec", _AST_ONLY, True)
        found = []
        for probe, site in self._sites(pristine, self._probes_of(filename)):
            counterpart = _counterpart(tree, site)
            if counterpart is None:
                self._refuse(probe, "another tool rewrote the statement: %s" % site.describe())
            else:
                found.append((probe, counterpart))
        return self._compiled(tree, self._injections(tree, found), filename, flags, call)

    def _sites(self, tree, probes):
        found = []
        takeovers = compilers.Takeovers(tree)
        for probe in probes:
            try:
                site = places.resolve(tree, probe["function"], probe["line"], probe["after"], probe["mark"], probe.get("moment"))
                takeover = takeovers.of(site.spot)
            except places.PlaceProblem as problem:
                self._refuse(probe, problem.text())
                continue
            if takeover is not None and takeover.effect(probe.get("compiled")) is None:
                self._refuse(probe, takeover.reason())
            else:
                found.append((probe, site))
        return found

    def _injections(self, tree, found):
        made = []
        takeovers = compilers.Takeovers(tree)
        for probe, site in found:
            try:
                made.append((probe, site, self._injection(takeovers, probe, site)))
            except Refusal as refusal:
                self._refuse(probe, refusal.reason)
        # A statement that others stand beside must still be there: what replaces the value of a `return` comes later, what wraps last.
        made.sort(key=lambda item: ("", places.RETURN, places.RAISE).index(item[1].moment or ""))
        return made

    def _injection(self, takeovers, probe, site):
        takeover = takeovers.of(site.spot) if probe.get("compiled") is not None else None
        if takeover is None:
            return Injection(probe, site)
        site.note = ", ".join(filter(None, (site.note, takeover.effect(probe["compiled"]))))
        if probe["compiled"] != "skip":
            return Injection(probe, site)
        guard = takeovers.guard(site.spot, takeover.kind)
        if guard is None:
            raise Refusal("%s, and the module does not import torch by name, so the probe could not stand aside" % takeover.reason(), 0)
        return Injection(probe, site, guard)

    def _compiled(self, tree, made, filename, flags, call):
        """Compiles the tree with its injections, which are taken out of it again: the tree may be the program's."""
        if not made:
            return None
        plain = self.compile(tree, filename, "exec", flags, **call)
        unsafe = any(probe["unsafe"] for probe, _, _ in made)
        for _, _, injection in made:
            _see(injection, plain)
        try:
            code = self._with_injections(tree, made, filename, flags, call)
            if not same_scopes(plain, code, unsafe):
                for _, _, injection in made:
                    _keep_order(injection, plain)
                code = self._with_injections(tree, made, filename, flags, call)
        except (SyntaxError, ValueError, TypeError) as error:
            return self._refuse_all(made, "does not compile when rewritten: %s" % error)
        if not same_scopes(plain, code, unsafe, loose=COMPREHENSIONS_INSIDE):
            return self._refuse_all(made, "the capture would change the scopes of the function")
        armed = [self._place(probe, site, injection) for probe, site, injection in made]
        return code if any(armed) else None

    def _with_injections(self, tree, made, filename, flags, call):
        undo = []
        try:
            for _, _, injection in made:
                undo += injection.insert()
            return self.compile(tree, filename, "exec", flags, **call)
        finally:
            for restore in reversed(undo):
                restore()

    def _place(self, probe, site, injection):
        try:
            self._arm(probe["index"], injection)
        except OSError as error:
            self._refuse(probe, "no room for a ring in shared memory: %s" % error.strerror)
            return False
        self.record.note("placed", probe["index"], site.describe(), site.line, *self._recorder(probe["index"], injection))
        return True

    def _recorder(self, index, injection):
        """What records the hits of a probe, and what one costs in ns where that is known."""
        is_native = natives.serves(injection)
        if index not in self.costs:
            self.costs[index] = self.native.cost(injection) if is_native else self._plain_cost(index, injection)
        return "native" if is_native else "python", self.costs[index]

    def _plain_cost(self, index, injection):
        """Tries what plain Python's hit costs; what an `unsafe` capture costs is the program's, and not known before."""
        if injection.is_staged():
            return None
        ring = Ring(None, [1] * len(self.probes), len(self.probes[index]["capture"]) + 1)
        if hooks.is_direct(injection, self.probes[index]):
            tried = hooks.direct(ring, index, _ENDLESS)
        else:
            tried = hooks.general(ring, index, injection, Gate(ring, index, _ENDLESS, None, None))
        return natives.plain_cost(tried, injection, ring.free)

    def _arm(self, index, injection):
        """Publishes the object that the injected statements store into: the native recorder's, where it can do what is asked."""
        injection.armed = self.native.probe(index, injection, self.record.stem) if self.native is not None else None
        if injection.armed is None:
            injection.armed = self._published(index, injection)
        self.injections[index] = injection
        setattr(builtins, injection.hook, injection.armed)

    def _published(self, index, injection):
        """Makes the object of the plain Python path."""
        if self.ring is None:
            captures = max(len(item["capture"]) + 1 for item in self.probes)
            self.ring = Ring(self.record.stem + ".ring", [item["limit"] for item in self.probes], captures)
        probe = self.probes[index]
        if hooks.is_direct(injection, probe):
            return hooks.direct(self.ring, index, probe["limit"])
        gate = Gate(self.ring, index, probe["limit"], probe.get("rate"), injection.condition)
        if injection.is_staged():
            return staging.staged(self.ring, index, injection, gate, lambda text: self.record.note("disabled", index, text))
        return hooks.general(self.ring, index, injection, gate)

    def _refuse(self, probe, reason):
        self.record.note("refused", probe["index"], reason)

    def _refuse_all(self, made, reason):
        for probe, _, _ in made:
            self._refuse(probe, reason)
        return None


def _counterpart(tree, site):
    """The statement of a rewritten tree that stands where the chosen one stands in the file."""
    if site.function is not None:
        return _counterpart_of_function(tree, site)
    wanted = site.spot.statement
    same_line = []
    for spot in trees.spots(tree):
        statement = spot.statement
        if getattr(statement, "lineno", None) != wanted.lineno or spot.qualified != site.spot.qualified:
            continue
        if type(statement) is type(wanted) and statement.col_offset == wanted.col_offset:
            return places.Site(spot, site.after, site.note)
        same_line.append(spot)
    if not same_line:
        return None
    return places.Site(same_line[-1] if site.after else same_line[0], site.after, site.note)


def _counterpart_of_function(tree, site):
    for spot in trees.spots(tree):
        scope = spot.scope
        same = isinstance(scope, trees.FUNCTIONS) and scope.name == site.function.name and scope.lineno == site.function.lineno
        if same and spot.qualified == site.spot.qualified:
            return places.Site(spot, False, site.note, site.moment, scope)
    return None


def _see(injection, plain):
    code = _code_of(injection, plain)
    if code is not None:
        injection.see(code)


def _keep_order(injection, plain):
    code = _code_of(injection, plain)
    if code is not None:
        injection.keep_order(code.co_varnames)


def _code_of(injection, plain):
    """The code of the function around a place, as it is without probes."""
    scope = injection.scope
    if isinstance(scope, trees.FUNCTIONS):
        for code in _every(plain):
            if code.co_name == scope.name and code.co_firstlineno == trees.first_line(scope):
                return code
    return None


def _every(code):
    yield code
    for inner in _nested(code):
        for item in _every(inner):
            yield item


def same_scopes(plain, rewritten, unsafe=False, loose=False):
    """Tells whether every function of the plain code has the same variables in the rewritten code.

    An unsafe expression may bring variables of its own: comprehensions keep theirs in the function from 3.12 on. The value of a
    `return` may come last. Where it is `loose`, the order after the arguments does not count: from 3.12 on the variables of inlined
    comprehensions stand where each is met first, and what comes before them decides where that is.
    """
    if plain.co_cellvars != rewritten.co_cellvars or plain.co_freevars != rewritten.co_freevars:
        return False
    names = rewritten.co_varnames
    if HIDDEN not in plain.co_varnames and (loose or names[-1:] == (HIDDEN,)):
        names = tuple(name for name in names if name != HIDDEN)
    same = plain.co_varnames == names or (loose and _same_in_some_order(plain, names))
    if not same and not (unsafe and set(plain.co_varnames) <= set(names)):
        return False
    candidates = iter(_nested(rewritten))
    for inner in _nested(plain):
        for candidate in candidates:
            if candidate.co_name == inner.co_name and same_scopes(inner, candidate, unsafe, loose):
                break
        else:
            return False
    return True


def _same_in_some_order(plain, names):
    arguments = plain.co_argcount + plain.co_kwonlyargcount
    return plain.co_varnames[:arguments] == names[:arguments] and sorted(plain.co_varnames) == sorted(names)


def _nested(code):
    return [item for item in code.co_consts if type(item) is type(code)]
