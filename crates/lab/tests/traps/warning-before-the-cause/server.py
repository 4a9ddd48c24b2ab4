"""A server that warns of something harmless, seconds before the error that ends it."""

import sys

print("W0828 01:41:15.002805 73 topology.cpp:156] No RDMA devices found, check your device installation", file=sys.stderr)
print("ERROR: could not load optional plugin (ignored)", file=sys.stderr)
print("[2026-08-28 01:41:17] Load weight end. elapsed=0.60 s", file=sys.stderr)
raise ValueError("Loaded weights leave no memory for the cache under fraction=0.5.")
