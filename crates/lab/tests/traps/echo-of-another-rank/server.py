"""Two ranks: one dies, the other tells of a lost peer in the words of a failure of its own, and the parent wraps it all."""

import subprocess
import sys

FIRST = "import sys; print('[rank1] loading', file=sys.stderr, flush=True); raise MemoryError('rank 1 has no room for its shard')"
ECHO = """
import sys
raise RuntimeError('NCCL communicator was aborted on rank 0: peer closed connection')
"""

first = subprocess.run([sys.executable, "-c", FIRST])
subprocess.run([sys.executable, "-c", ECHO])
raise RuntimeError("Engine core initialization failed. See root cause above. Failed core proc(s): {}")
