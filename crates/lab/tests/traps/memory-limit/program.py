"""A program that takes more memory than its group may have; the kernel ends it without a word."""

import pathlib

pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
print("loading weights", flush=True)
held = []
while True:
    held.append(bytearray(b"x") * (16 << 20))
