"""Answers one request in tagged data: where probes go, or what is wrong with inserted lines."""

import hashlib
import sys

from bystander_check import inserted, locate, names
from bystander_overlay import capture as captures
from bystander_overlay import place as places
from bystander_overlay import tree as trees
from bystander_overlay.inject import outer_kind


def answer(request, program_path):
    """Dispatches on `request["task"]`."""
    version = "%d.%d.%d" % sys.version_info[:3]
    if request["task"] == "inserted":
        return {"python": version, "problems": inserted.problems(request)}
    locate.use_path(request["path"] + program_path)
    return {"python": version, "probes": [_checked(probe) for probe in request["probes"]]}


def _checked(probe):
    try:
        return _placed(probe)
    except places.PlaceProblem as problem:
        return dict(problem.facts, problem=problem.kind)


def _placed(probe):
    path = locate.source_of(probe)
    data = locate.read(path)
    tree = locate.parse(data, path)
    site = _site(tree, probe, data)
    compiler = places.compiler_of(tree, site.spot)
    if compiler is not None:
        raise places.PlaceProblem("compiled", decorator=compiler[0], line=compiler[1])
    _check_captures(tree, site, probe)
    return _description(probe, path, data, site)


def _site(tree, probe, data):
    try:
        return places.resolve(tree, probe["function"], probe["line"], probe["after"])
    except places.PlaceProblem as problem:
        facts = problem.facts
        if problem.kind == "function_not_found":
            facts["candidates"] = locate.nearest(probe["function"], facts.pop("known"))
        elif problem.kind == "pattern_not_found":
            facts["candidates"] = locate.nearest_statements(tree, data, probe["after"], facts.pop("statements"))
        elif problem.kind == "pattern_ambiguous":
            facts["lines"] = sorted(facts["lines"])
        raise


def _description(probe, path, data, site):
    scope = site.spot.scope
    function = site.spot.qualified if isinstance(scope, trees.FUNCTIONS) else None
    by_line = probe["function"] is None and probe["after"] is None
    return {
        "path": path,
        "sha256": hashlib.sha256(data).hexdigest(),
        "line": site.line,
        "side": "after" if site.after else "before",
        "statement": trees.word_of(site.spot.statement),
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
    for field, index, text in expressions:
        leading = len(text) - len(text.lstrip())
        try:
            _check_capture(tree, site, text, probe["unsafe"])
        except captures.Refusal as refusal:
            raise places.PlaceProblem(
                "capture_refused", field=field, index=index, offset=leading + refusal.offset, reason=refusal.reason
            )
        except names.Unknown as unknown:
            raise places.PlaceProblem(
                "name_undefined", field=field, index=index, offset=leading + unknown.offset, name=unknown.name,
                scope=site.spot.qualified or "the module", later=unknown.later, candidates=unknown.candidates,
            )  # fmt: skip


def _check_capture(tree, site, text, unsafe):
    node = captures.parse(text)
    if unsafe:
        for part in trees.walk(node):
            kind = type(part).__name__
            if kind in ("Await", "Yield", "YieldFrom", "NamedExpr"):
                captures.compiled(part, {})
    else:
        captures.compiled(node, {name: 0 for name in captures.names_in(node)})
        for name in captures.roots(node):
            if isinstance(site.spot.scope, trees.FUNCTIONS) and name not in names.own_names(site.spot):
                outer_kind(site.spot, name)
    names.check_all(tree, site.spot, node, site.after)
