"""A launcher that says of its worker no more than its exit code."""

import subprocess
import sys

code = subprocess.run([sys.executable, "worker.py"]).returncode
if code:
    raise RuntimeError(f"worker exited with code {code}")
