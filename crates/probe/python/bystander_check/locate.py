"""Finds files of modules without running them, and says what is near where nothing was found."""

import difflib
import os
import pkgutil
import sys
from importlib.machinery import ModuleSpec, PathFinder

from bystander_overlay import place as places
from bystander_overlay import tree as trees


def use_path(path):
    """Makes `sys.path` what the program will see."""
    seen = []
    for item in path:
        if item not in seen:
            seen.append(item)
    sys.path[:] = seen


def source_of(probe):
    """The absolute path of the file that a probe names, by module or by path."""
    if probe["module"] is None:
        return regular(os.path.abspath(probe["path"]))
    return _source_of_module(probe["module"])


def regular(path):
    """The path, where a regular file is there: a pipe or a device may have no end."""
    if os.path.isfile(path):
        return path
    if os.path.exists(path):
        raise places.PlaceProblem("file_unreadable", path=path, reason="it is not a regular file")
    raise places.PlaceProblem("file_not_found", path=path, candidates=files_near(path))


def _source_of_module(dotted):
    spec, folders, known = None, None, []
    for part in dotted.split("."):
        known.append(part)
        spec = _find(".".join(known), folders)
        if spec is None:
            parent = ".".join(known[:-1])
            names = [item.name for item in pkgutil.iter_modules(folders)]
            candidates = [parent + "." + name if parent else name for name in nearest(part, names)]
            raise places.PlaceProblem("module_not_found", module=dotted, missing=".".join(known), candidates=candidates)
        folders = list(spec.submodule_search_locations) if spec.submodule_search_locations is not None else []
    return _source_of_spec(dotted, spec)


def _source_of_spec(dotted, spec):
    loader = spec.loader
    if spec.origin == "frozen" or type(loader).__name__ == "FrozenImporter" or loader.__class__ is type:
        kind = "it is built into the interpreter"
    elif loader is None or not spec.has_location:
        kind = "it is a namespace package without a file"
    elif type(loader).__name__ == "ExtensionFileLoader":
        kind = "it is compiled code: %s" % spec.origin
    elif "zip" in type(loader).__name__.lower():
        kind = "it lies in an archive: %s" % spec.origin
    elif not (spec.origin or "").endswith(".py"):
        kind = "it has no source: %s" % spec.origin
    else:
        return os.path.abspath(spec.origin)
    raise places.PlaceProblem("no_source", module=dotted, reason=kind)


def spec_of(name):
    """What the finders say of a top-level module; None where none knows it."""
    return _find(name, None)


def _find(name, folders):
    """Asks the finders as an import would, parents not imported."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            spec = find(name, folders) if find is not None else None
        except Exception:  # A finder of an editable install that needs the parent to be imported.
            spec = None
        if spec is not None:
            return spec
    try:
        return PathFinder.find_spec(name, folders)
    except KeyError:  # A folder without a file of its own: its path is computed from its parent, which is not imported.
        return _namespace(name, folders)


def _namespace(name, folders):
    spec = ModuleSpec(name, None, is_package=True)
    inside = [os.path.join(folder, name.rpartition(".")[2]) for folder in folders]
    spec.submodule_search_locations = [folder for folder in inside if os.path.isdir(folder)]
    return spec


def read(path):
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise places.PlaceProblem("file_unreadable", path=path, reason=error.strerror)


def parse(data, path):
    """The syntax tree of a file."""
    line = trees.undecodable_line(data)
    if line is not None:
        message = "it is not UTF-8, and the file declares no other encoding"
        raise places.PlaceProblem("file_syntax", path=path, line=line, message=message)
    try:
        return compile(data, path, "exec", 0x400, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise places.PlaceProblem(
            "file_syntax", path=path, line=getattr(error, "lineno", None), message=getattr(error, "msg", str(error))
        )


def nearest(name, known):
    """The names most like one that was not found."""
    found = difflib.get_close_matches(name, known, 3, 0.7)
    tail = name.rpartition(".")[2]
    return found + [item for item in known if item.rpartition(".")[2] == tail and item not in found][:3]


def files_near(path):
    """The files in the folder of a missing one whose names are most like its own."""
    folder, name = os.path.split(path)
    try:
        return [os.path.join(folder, item) for item in difflib.get_close_matches(name, os.listdir(folder), 3, 0.7)]
    except OSError:
        return []


def nearest_statements(tree, data, pattern, lines):
    """The statements most like a pattern that matched nothing: their line and first line of text."""
    text = data.decode("utf-8", "replace").splitlines()
    wanted = pattern.replace("...", "").strip()
    scored = []
    for spot in trees.spots(tree):
        line = getattr(spot.statement, "lineno", 0)
        if line in lines and line <= len(text):
            shown = text[line - 1].strip()
            alike = difflib.SequenceMatcher(None, wanted, shown[: len(wanted) + 4]).ratio()
            scored.append((alike, -line, shown))
    best = sorted(set(scored), reverse=True)[:3]
    return [{"line": -line, "text": shown} for score, line, shown in best if score > 0.3]
