"""Measures the overlay from inside a probed process: CPU nanoseconds a hit, a hit over the limit, and unprobed code.

Run as `python cost.py BATCHES`; prints one line of numbers: recorded hit, rejected hit, unprobed recursion (all in ns).
"""

import sys
import time

import target

BATCH = 1000


def batch(function):
    """CPU nanoseconds a call of one batch."""
    start = time.thread_time_ns()
    for number in range(BATCH):
        function(number)
    return (time.thread_time_ns() - start) / BATCH


def drain():
    """Frees every slot, as the reader outside does, so that the next batch finds room."""
    rewrite = sys.modules.get("bystander_overlay.rewrite")
    if rewrite is not None:
        ring = sys.modules["bystander_overlay"]._overlay.rewriter.ring
        for slot in range(ring.slots):
            ring.memory[ring.commit_offset + slot] = 0


def median(values):
    """The middle value."""
    return sorted(values)[len(values) // 2]


def main(batches):
    """Takes batches of the twin and the probed function by turns, so that noise meets both."""
    plain, recorded = [], []
    for _ in range(batches):
        drain()
        plain.append(batch(target.twin))
        recorded.append(batch(target.work))
    full = median([batch(target.work) for _ in range(batches)])
    recursion = []
    for _ in range(5):
        start = time.thread_time_ns()
        target.fibonacci(20)
        recursion.append(time.thread_time_ns() - start)
    print(median(recorded) - median(plain), full - median(plain), median(recursion), min(recorded) - min(plain))


main(int(sys.argv[1]))
