"""Which release of a distribution the program would import, read from its metadata; nothing of it is imported."""

import os

from bystander_check import locate


def release(request, path):
    """The first distribution of the request that is there, its version, and the folder of its package."""
    # While the standard library is all there is to import from.
    import importlib.metadata as metadata

    locate.use_path(path)
    found = {"distribution": None, "version": None, "folder": _folder(request["package"])}
    for name in request["distributions"]:
        version = _version(metadata, name)
        if version is not None:
            return dict(found, distribution=name, version=version)
    return found


def _version(metadata, name):
    try:
        version = metadata.version(name)
    except Exception:  # No such distribution, or metadata that cannot be read: the places of a package are looked for all the same.
        return None
    return version if isinstance(version, str) and version.strip() else None


def _folder(package):
    """The folder of a package, or the file of a module; None where no finder knows it."""
    spec = locate.spec_of(package)
    if spec is None:
        return None
    folders = spec.submodule_search_locations
    if folders is not None:
        return next((os.path.abspath(folder) for folder in folders), None)
    return os.path.abspath(spec.origin) if spec.has_location else None
