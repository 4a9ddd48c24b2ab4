"""First code of a check: runs as `python -B -c`, reads the modules and the request from standard input, answers after a marker.

Also parses on Pythons that are too old for the rest. Nothing is imported from the program's folders, and nothing is written.
"""

import sys

MARKER = sys.argv[1]


def main():
    import os

    if sys.path and sys.path[0] == "":
        del sys.path[0]
    program_path = list(sys.path)
    library = os.path.dirname(os.__file__)
    sys.path[:] = [item for item in sys.path if item == library or item == os.path.join(library, "lib-dynload") or item.endswith(".zip")]
    import json

    question = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    for package in ("bystander_overlay", "bystander_check"):
        sys.modules[package] = type(sys)(package)
        sys.modules[package].__path__ = []
    sys.meta_path.insert(0, Carried(question["modules"]))
    from bystander_check import answer

    sys.meta_path.pop(0)
    return json.dumps(answer.answer(question["request"], program_path))


class Carried(object):
    """Finds the modules that the question carried."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__spec__.name
        exec(compile(self.sources[name], "<%s>" % name, "exec"), module.__dict__)


if sys.version_info < (3, 8):
    text = '{"too_old": "%d.%d.%d"}' % tuple(sys.version_info[:3])
else:
    text = main()
sys.stdout.write("\n" + MARKER + text + "\n")
sys.stdout.flush()
