"""A module with probes."""
from __future__ import annotations

import os

LIMIT = 7


class Pool:
    """A pool."""

    def __init__(self, size):
        self.size = size

    def grow(self, by):
        total = self.size
        for step in range(by):
            total += (
                step
            )
        return total


def add(number):
    """Adds one."""
    result = number + 1
    return result


def choose(flag):
    if flag:
        picked = "yes"
    else:
        picked = "no"
    return picked


def fail(depth):
    left = depth - 1
    if left:
        fail(left)
    raise ValueError(
        "deep"
    )
