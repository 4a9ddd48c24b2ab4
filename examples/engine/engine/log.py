"""Log lines on stderr: `[2026-01-31 12:00:00 TP3] message`. The parent has no label."""

import os
import time

_label = ""


def set_label(label):
    """Sets the rank label of this process, `TP3`."""
    global _label
    _label = " " + label


def log(message):
    """Writes one message with one system call, so that the lines of two ranks never mix."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    line = f"[{stamp}{_label}] {message}\n".encode("utf-8", "backslashreplace")
    while line:
        line = line[os.write(2, line):]
