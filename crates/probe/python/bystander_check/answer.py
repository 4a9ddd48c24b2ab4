"""Answers one request in tagged data: where probes go, or what is wrong with inserted lines."""

import hashlib
import sys

import _ast

from bystander_check import inserted, installed, listing, locate, names, text
from bystander_overlay import capture as captures
from bystander_overlay import compiled as compilers
from bystander_overlay import place as places
from bystander_overlay import tree as trees
from bystander_overlay import words
from bystander_overlay.inject import Injection, check_words, outer_kind


def answer(request, program_path):
    """Dispatches on `request["task"]`."""
    version = "%d.%d.%d" % sys.version_info[:3]
    if request["task"] == "inserted":
        return {"python": version, "problems": inserted.problems(request)}
    if request["task"] == "list":
        return dict(listing.listing(request["file"]), python=version)
    if request["task"] == "release":
        return dict(installed.release(request, request["path"] + program_path), python=version)
    locate.use_path(request["path"] + program_path)
    files = {}
    return {"python": version, "probes": [_checked(probe, files) for probe in request["probes"]]}


class _File:
    """A file that probes of one request share: read and parsed once."""

    def __init__(self, path):
        self.path = path
        self.data = locate.read(path)
        self.tree = locate.parse(self.data, path)
        self.takeovers = compilers.Takeovers(self.tree)


def _checked(probe, files):
    path = probe["path"] or probe["module"]
    try:
        path = locate.source_of(probe)
        if path not in files:
            files[path] = _File(path)
        return _placed(probe, files[path])
    except places.PlaceProblem as problem:
        return dict(problem.facts, problem=problem.kind)
    except RecursionError:
        return {"problem": "file_syntax", "path": path, "line": None, "message": "it, or the probe, is nested too deep"}


def _placed(probe, file):
    site = _site(file.tree, probe, file.data)
    _check_takeover(file.takeovers, site, probe.get("compiled"))
    _check_captures(file.tree, site, probe)
    found = _description(probe, file.path, file.data, site)
    # Trying out a place in the text parses the whole file again.
    found["text"] = text.insertion(file.data, file.path, file.tree, site) if probe.get("text", True) else None
    return found


def _check_takeover(takeovers, site, wanted):
    """Refuses code that a compiler takes over, unless what that does to the probe was asked for."""
    takeover = takeovers.of(site.spot)
    if takeover is None:
        return
    effect = takeover.effect(wanted)
    choices = [word for word in ("break", "skip") if takeover.effect(word) is not None]
    if effect is None:
        effects = {word: takeover.effect(word) for word in choices}
        raise places.PlaceProblem("compiled", decorator=takeover.name, line=takeover.line, effects=effects)
    if wanted == "skip" and takeovers.guard(site.spot, takeover.kind) is None:
        raise places.PlaceProblem("compiled", decorator=takeover.name, line=takeover.line, effects={"break": takeover.effect("break")})
    site.note = ", ".join(filter(None, (site.note, effect)))


def _site(tree, probe, data):
    try:
        return places.resolve(tree, probe["function"], probe["line"], probe["after"], None, probe.get("moment"))
    except places.PlaceProblem as problem:
        facts = problem.facts
        if problem.kind == "function_not_found":
            facts["candidates"] = locate.nearest(probe["function"], facts.pop("known"))
            facts["lambda"] = _line_of_lambda(tree, probe["function"])
        elif problem.kind == "pattern_not_found":
            facts["candidates"] = locate.nearest_statements(tree, data, probe["after"], facts.pop("statements"))
        elif problem.kind == "pattern_ambiguous":
            facts["lines"] = sorted(facts["lines"])
        raise


def _line_of_lambda(tree, function):
    """The line at which a name is given a lambda; None where it is not."""
    name = function.rpartition(".")[2]
    for spot in trees.spots(tree):
        node = spot.statement
        targets = node.targets if isinstance(node, _ast.Assign) else [getattr(node, "target", None)]
        if isinstance(getattr(node, "value", None), _ast.Lambda) and any(getattr(target, "id", None) == name for target in targets):
            return node.lineno
    return None


def _description(probe, path, data, site):
    scope = site.spot.scope
    function = site.spot.qualified if isinstance(scope, trees.FUNCTIONS) else None
    by_line = probe["function"] is None and probe["after"] is None
    leaving = site.moment is not None
    return {
        "path": path,
        "sha256": hashlib.sha256(data).hexdigest(),
        "line": site.line,
        "side": "after" if site.after or leaving else "before",
        "statement": trees.word_of(site.function if leaving else site.spot.statement),
        "chosen": site.describe(),
        "scope": site.spot.qualified or "<module>",
        "function": probe["function"] if probe["function"] is not None else (None if by_line else function),
        "find_line": site.line if by_line else probe["line"],
        "mark": site.mark() if by_line and not site.after else None,
    }


def _check_captures(tree, site, probe):
    expressions = [("capture", index, text) for index, text in enumerate(probe["capture"])]
    if probe["rank"] is not None:
        expressions.append(("rank", 0, probe["rank"]))
    if probe.get("condition") is not None:
        expressions.append(("condition", 0, probe["condition"]))
    for field, index, text in expressions:
        leading = len(text) - len(text.lstrip())
        try:
            _check_capture(tree, site, text, probe["unsafe"] and field != "condition", field == "condition")
        except captures.Refusal as refusal:
            raise places.PlaceProblem(
                "capture_refused", field=field, index=index, offset=leading + refusal.offset, reason=refusal.reason
            )
        except names.Unknown as unknown:
            raise places.PlaceProblem(
                "name_undefined", field=field, index=index, offset=leading + unknown.offset, name=unknown.name,
                scope=site.spot.qualified or "the module", later=unknown.later, candidates=unknown.candidates,
            )  # fmt: skip
    _check_together(site, probe)


def _check_capture(tree, site, text, unsafe, is_condition):
    node = captures.parse(text)
    check_words(node, site.moment)
    if is_condition:
        captures.check_condition(node)
    if unsafe:
        for part in trees.walk(node):
            kind = type(part).__name__
            if kind in ("Await", "Yield", "YieldFrom", "NamedExpr"):
                captures.compiled(part, {})
    else:
        captures.compiled(node, {name: 0 for name in captures.names_in(node)})
        for name in captures.roots(node):
            if isinstance(site.spot.scope, trees.FUNCTIONS) and name not in names.own_names(site.spot) and not words.is_word(name):
                outer_kind(site.spot.scopes, name)
    if site.moment is None:
        names.check_all(tree, site.spot, node, site.after)
    else:
        names.check_anywhere(tree, site.spot, node)


def _check_together(site, probe):
    """Refuses what only shows when everything is put together."""
    try:
        Injection(dict(probe, index=0), site)
    except captures.Refusal as refusal:
        raise places.PlaceProblem("capture_refused", field="capture", index=0, offset=0, reason=refusal.reason)
