"""Hits at a pace of 100,000 a second: a thousand, then whatever is left of ten milliseconds."""

import sys
import time


def step(number):
    double = number * 2
    return double


if __name__ == "__main__":
    for base in range(0, int(sys.argv[1]), 1000):
        start = time.monotonic()
        for number in range(base, base + 1000):
            step(number)
        time.sleep(max(0, start + 0.01 - time.monotonic()))
