"""A server whose worker dies of an exception, and whose front end then ends as if all were well."""

import subprocess
import sys

WORKER = "raise RuntimeError('engine core died')"

subprocess.run([sys.executable, "-c", WORKER])
print("bye", flush=True)
sys.exit(0)
