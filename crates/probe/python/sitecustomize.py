"""The door of the overlay: `site` imports this file in every Python process whose PYTHONPATH begins with its folder.

It starts the overlay, takes the folder out of `sys.path` again, and then lets the `sitecustomize` that it shadows run as if
nothing had been here. Nothing that goes wrong in the overlay may reach the program, and nothing is printed. A Python that is
too old for probes, 2.7 too, reads this file as well, and only steps aside.
"""

import sys


def _start(folder):
    import bystander_overlay

    bystander_overlay.start(folder)


def _forget_private_bytecode():
    """Removes the bytecode of this file where the user redirected all bytecode: that folder is not ours."""
    import os

    prefix, cached = sys.pycache_prefix, globals().get("__cached__")
    if not cached or not cached.startswith(prefix):
        return
    os.unlink(cached)
    parent = os.path.dirname(cached)
    while len(parent) > len(prefix):
        os.rmdir(parent)
        parent = os.path.dirname(parent)


def _enter(folder):
    writes_bytecode = sys.dont_write_bytecode
    if sys.pycache_prefix:
        sys.dont_write_bytecode = True
    try:
        _start(folder)
    except Exception:  # An overlay that cannot start leaves the program alone.
        pass
    sys.dont_write_bytecode = writes_bytecode
    _step_aside(folder)
    if sys.pycache_prefix:
        try:
            _forget_private_bytecode()
        except Exception:
            pass


def _step_aside(folder):
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    for entry in (folder, folder + "/bystander_overlay"):
        sys.path_importer_cache.pop(entry, None)


(_enter if sys.version_info >= (3, 8) else _step_aside)(__file__.rpartition("/")[0])

# The shadowed module, if there is one, now takes this module's place in `sys.modules`. If there is none, the ModuleNotFoundError
# that `site` expects in that case goes through, and `sitecustomize` is as absent as it is without the overlay.
_this = sys.modules.pop("sitecustomize", None)  # Held: Python 2.7 clears a module that nobody holds while it still runs.
import sitecustomize  # noqa: E402,F401
