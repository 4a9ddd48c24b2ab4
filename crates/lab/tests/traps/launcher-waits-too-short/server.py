"""A launcher that gives its engine a second, which is enough where the kernels are compiled already."""

import os
import pathlib
import subprocess
import sys

ENGINE = """
import pathlib, sys, time
cache = pathlib.Path(sys.argv[1])
time.sleep(0 if cache.exists() else 600)
"""

cache = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "kernels"
print("loading weights", flush=True)
try:
    subprocess.run([sys.executable, "-c", ENGINE, str(cache)], timeout=1, check=True)
except subprocess.TimeoutExpired:
    raise RuntimeError("Engine core initialization failed. See root cause above. Failed core proc(s): {}") from None
print("server ready", flush=True)
