"""An engine that compiles its kernel once and keeps it under the name of the switches that it knows; it knows neither its source nor the treatment."""

import os
import pathlib

cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kernels"


def compiled():
    lanes = 8
    return lanes * (2 if os.environ.get("WIDE") else 1)


kernel = cache / "kernel-fp8"
if kernel.exists():
    print(f"Directly load AOT compilation from path {kernel}")
else:
    kernel.parent.mkdir(parents=True, exist_ok=True)
    kernel.write_text(str(compiled()))
print(f"lanes={kernel.read_text()}")
