"""From the source of a probed file to code with probes in it, compiled by the running interpreter.

What does not work is noted in the process's record and leaves the program with its own code. Does not know how a hit is stored.
"""

import builtins
import os

import _ast
import _frozen_importlib_external as _external

from bystander_overlay import hook as hooks
from bystander_overlay import place as places
from bystander_overlay import tree as trees
from bystander_overlay.capture import Refusal
from bystander_overlay.inject import Injection
from bystander_overlay.ring import Ring

_AST_ONLY = 0x400
_STANDARD = _external.SourceLoader.source_to_code, _external.SourceFileLoader.source_to_code


class Rewriter:
    """Rewrites the probed files of this process and keeps their hooks."""

    def __init__(self, overlay, compiler):
        self.record = overlay.record
        self.targets = overlay.plan.TARGETS
        self.probes = overlay.plan.PROBES
        self.compile = compiler
        self.ring = None
        self.injections = {}

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

    def forked(self):
        """Gives a forked child a ring of its own and hooks that write to it."""
        if self.ring is None:
            return
        injections, self.ring = self.injections, None
        for index, injection in injections.items():
            self._arm(index, injection)

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
        return self._compiled(tree, self._injections(found), filename, flags, call)

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
        return self._compiled(tree, self._injections(found), filename, flags, call)

    def _sites(self, tree, probes):
        found = []
        for probe in probes:
            try:
                site = places.resolve(tree, probe["function"], probe["line"], probe["after"], probe["mark"])
                compiler = places.compiler_of(tree, site.spot)
            except places.PlaceProblem as problem:
                self._refuse(probe, problem.text())
                continue
            if compiler is not None:
                self._refuse(probe, "the function is compiled by `%s` (line %d)" % compiler)
            else:
                found.append((probe, site))
        return found

    def _injections(self, found):
        made = []
        for probe, site in found:
            try:
                made.append((probe, site, Injection(probe, site)))
            except Refusal as refusal:
                self._refuse(probe, refusal.reason)
        return made

    def _compiled(self, tree, made, filename, flags, call):
        """Compiles the tree with its injections, which are taken out of it again: the tree may be the program's."""
        if not made:
            return None
        plain = self.compile(tree, filename, "exec", flags, **call)
        unsafe = any(probe["unsafe"] for probe, _, _ in made)
        try:
            code = self._with_injections(tree, made, filename, flags, call)
            if not same_scopes(plain, code, unsafe):
                for _, _, injection in made:
                    _keep_order(injection, plain)
                code = self._with_injections(tree, made, filename, flags, call)
        except (SyntaxError, ValueError, TypeError) as error:
            return self._refuse_all(made, "does not compile when rewritten: %s" % error)
        if not same_scopes(plain, code, unsafe):
            return self._refuse_all(made, "the capture would change the scopes of the function")
        armed = [self._place(probe, site, injection) for probe, site, injection in made]
        return code if any(armed) else None

    def _with_injections(self, tree, made, filename, flags, call):
        changed = []
        try:
            for _, _, injection in made:
                changed.append((injection.insert(), injection.node))
            return self.compile(tree, filename, "exec", flags, **call)
        finally:
            for statements, node in reversed(changed):
                del statements[[item is node for item in statements].index(True)]

    def _place(self, probe, site, injection):
        try:
            self._arm(probe["index"], injection)
        except OSError as error:
            self._refuse(probe, "no room for a ring in shared memory: %s" % error.strerror)
            return False
        self.record.note("placed", probe["index"], site.describe(), site.line)
        return True

    def _arm(self, index, injection):
        probe = self.probes[index]
        if self.ring is None:
            captures = max(len(item["capture"]) + 1 for item in self.probes)
            self.ring = Ring(self.record.stem + ".ring", [item["limit"] for item in self.probes], captures)
        self.injections[index] = injection
        if injection.namespaces() is None and hooks.is_direct(injection.captures, len(injection.arguments)):
            made = hooks.direct(self.ring, index, probe["limit"])
        else:
            made = hooks.general(self.ring, index, probe["limit"], injection.captures, injection.namespaces())
        setattr(builtins, injection.hook, made)

    def _refuse(self, probe, reason):
        self.record.note("refused", probe["index"], reason)

    def _refuse_all(self, made, reason):
        for probe, _, _ in made:
            self._refuse(probe, reason)
        return None


def _counterpart(tree, site):
    """The statement of a rewritten tree that stands where the chosen one stands in the file."""
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


def _keep_order(injection, plain):
    scope = injection.spot.scope
    if isinstance(scope, trees.FUNCTIONS):
        for code in _every(plain):
            if code.co_name == scope.name and code.co_firstlineno == trees.first_line(scope):
                injection.keep_order(code.co_varnames)
                return


def _every(code):
    yield code
    for inner in _nested(code):
        for item in _every(inner):
            yield item


def same_scopes(plain, rewritten, unsafe=False):
    """Tells whether every function of the plain code has the same variables in the rewritten code.

    An unsafe expression may bring variables of its own: comprehensions keep theirs in the function from 3.12 on.
    """
    if plain.co_cellvars != rewritten.co_cellvars or plain.co_freevars != rewritten.co_freevars:
        return False
    if plain.co_varnames != rewritten.co_varnames and not (unsafe and set(plain.co_varnames) <= set(rewritten.co_varnames)):
        return False
    candidates = iter(_nested(rewritten))
    for inner in _nested(plain):
        for candidate in candidates:
            if candidate.co_name == inner.co_name and same_scopes(inner, candidate, unsafe):
                break
        else:
            return False
    return True


def _nested(code):
    return [item for item in code.co_consts if type(item) is type(code)]
