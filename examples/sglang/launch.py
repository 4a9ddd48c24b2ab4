#!/usr/bin/env python3
"""Becomes the server: gives its arguments to the command that `BYSTANDER_SGLANG` provides.

How SGLang is installed, and on which GPU it runs, is not for an experiment file to know: see README.md.
"""

import os
import sys


def main():
    """Replaces this process, so that the server keeps its pid, its environment and its output."""
    folder = os.environ.get("BYSTANDER_SGLANG")
    if not folder:
        sys.exit("launch.py: set BYSTANDER_SGLANG to the folder that README.md describes")
    server = os.path.join(folder, "serve")
    try:
        os.execv(server, [server] + sys.argv[1:])
    except OSError as error:
        sys.exit("launch.py: %s cannot be run: %s" % (server, error.strerror))


if __name__ == "__main__":
    main()
