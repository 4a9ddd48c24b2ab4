"""Keeps pytest's own bytecode of rewritten test modules away from probed files: neither read nor written."""

import sys


def bypass(overlay):
    """Wraps pytest's two cache functions once its module has them; tells whether that is done."""
    module = sys.modules.get("_pytest.assertion.rewrite")
    names = module.__dict__ if module is not None else {}
    read, write = names.get("_read_pyc"), names.get("_write_pyc")
    if read is None or write is None:
        return False

    def read_pyc(source, *args, **keywords):
        return None if overlay.is_target(str(source)) else read(source, *args, **keywords)

    def write_pyc(state, code, *args, **keywords):
        return True if overlay.is_target(code.co_filename) else write(state, code, *args, **keywords)

    names["_read_pyc"], names["_write_pyc"] = read_pyc, write_pyc
    return True
