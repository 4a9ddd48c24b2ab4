"""A program that silently ignores a flag it does not know on this machine: both arms run the same."""

import sys

print("server_args=ServerArgs(allreduce='nccl')")
print("took 10 ms" if "--allreduce=custom" in sys.argv else "took 10 ms")
