"""A program that is killed before its buffer is written where nobody asks Python not to buffer."""

import os
import signal

print("about to do the dangerous thing")
os.kill(os.getpid(), signal.SIGKILL)
