"""Lists the places of a file that can be probed: its functions with their moments, and the lines at which a statement begins."""

import hashlib

from bystander_check import locate
from bystander_overlay import compiled as compilers
from bystander_overlay import place as places
from bystander_overlay import tree as trees


def listing(path):
    """The places of a file; where it cannot be read or parsed, what is wrong with it."""
    try:
        data = locate.read(locate.regular(path))
        module = locate.parse(data, path)
    except places.PlaceProblem as problem:
        return dict(problem.facts, problem=problem.kind)
    return dict(_Listing(module).data(), path=path, sha256=hashlib.sha256(data).hexdigest())


class _Listing:
    """The places of one parsed file."""

    def __init__(self, module):
        self.spots = [spot for spot in trees.spots(module) if getattr(spot.statement, "lineno", None)]
        self.by_statement = {id(spot.statement): spot for spot in self.spots}
        self.takeovers = compilers.Takeovers(module)
        self.functions = [spot for spot in self.spots if isinstance(spot.statement, trees.FUNCTIONS)]
        self.lines_of_names = {}
        for spot in self.functions:
            if not places.is_overload(spot.statement):
                self.lines_of_names.setdefault(places.dotted_name(spot), []).append(spot.statement.lineno)

    def data(self):
        """Everything, as plain data."""
        return {"functions": [self._function(spot) for spot in self.functions], "lines": self._lines()}

    def _spot_of(self, statement):
        return self.by_statement[id(statement)]

    def _function(self, spot):
        function = spot.statement
        takeover = self.takeovers.of(self._spot_of(function.body[0]))
        return {
            "name": places.dotted_name(spot),
            "line": function.lineno,
            "last_line": trees.last_line(function),
            "statement": trees.word_of(function),
            "entry": self._chosen(spot, lambda: places.entry(function, self._spot_of)),
            "return": self._chosen(spot, lambda: places.leaving(function, places.RETURN, self._spot_of)),
            "raise": self._chosen(spot, lambda: places.leaving(function, places.RAISE, self._spot_of)),
            "compiled": _compiled(takeover),
        }

    def _chosen(self, spot, find):
        """The place of a moment in words, or why there is none."""
        if places.is_overload(spot.statement):
            return {"refused": "it only carries `@overload`"}
        lines = self.lines_of_names[places.dotted_name(spot)]
        if len(lines) > 1:
            return {"refused": "several functions have this name, at the lines %s: probe a line" % ", ".join(map(str, lines))}
        try:
            return {"chosen": find().describe()}
        except places.PlaceProblem as problem:
            return {"refused": "it never returns" if problem.kind == "never_returns" else problem.text()}

    def _lines(self):
        """One row a line at which a statement begins: the statement and the side that a probe of this line takes."""
        rows, seen, known = [], set(), {}
        for spot in self.spots:
            line = trees.first_line(spot.statement)
            if line not in seen:
                seen.add(line)
                site = places.at_statement(self.spots, spot, line, self._spot_of)
                around = (id(site.spot.scope),) + tuple(id(block.owner) for block in site.spot.blocks)
                if around not in known:
                    known[around] = self.takeovers.of(site.spot)
                rows.append(_line(line, site, known[around]))
        return sorted(rows, key=lambda row: row["line"])


def _line(line, site, takeover):
    return {
        "line": line,
        "at": site.line,
        "statement": trees.word_of(site.spot.statement),
        "side": "after" if site.after else "before",
        "chosen": site.describe(),
        "scope": site.spot.qualified or "<module>",
        "compiled": takeover.name if takeover is not None else None,
    }


def _compiled(takeover):
    if takeover is None:
        return None
    effects = {word: takeover.effect(word) for word in ("break", "skip") if takeover.effect(word) is not None}
    return {"decorator": takeover.name, "line": takeover.line, "effects": effects}
