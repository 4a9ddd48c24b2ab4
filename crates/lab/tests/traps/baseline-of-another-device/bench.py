"""A benchmark on the device that this machine has."""

import sys

print(f"server_args=ServerArgs(device='v5e', tp_size=1, change={'--on' in sys.argv})")
print("samples/s: 8.7285")
