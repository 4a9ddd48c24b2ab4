"""Prints what the probe in `target.work` costs, what one that finds no room costs, and the time of code that nothing probes, in ns.

`cost.py BATCHES`: the medians of the first and the second, the time of a recursion, and the least of the first.
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
    """Frees the rings, as the reader outside does, so that the next batch finds room."""
    rewrite = sys.modules.get("bystander_overlay.rewrite")
    if rewrite is None:
        return
    overlay = sys.modules["bystander_overlay"]._overlay
    ring = overlay.rewriter.ring
    if ring is not None:
        for slot in range(ring.slots):
            ring.memory[ring.commit_offset + slot] = 0
    else:
        with open(overlay.record.stem + ".stream", "r+b") as file:
            sys.modules["bystander_overlay.ring"].discard(file.fileno())


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
    full = [batch(target.work) for _ in range(batches * 5)][-batches:]
    recursion = []
    for _ in range(9):
        start = time.thread_time_ns()
        target.fibonacci(20)
        recursion.append(time.thread_time_ns() - start)
    print(median(recorded) - median(plain), median(full) - median(plain), min(recursion), min(recorded) - min(plain))


if __name__ == "__main__":
    main(int(sys.argv[1]))
