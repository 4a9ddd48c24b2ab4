"""A race that is lost for sure where the gap is wide, and won as soon as somebody waits in it."""

import sys
import threading


def step(number):
    square = number * number
    return square


def main(gap):
    sys.setswitchinterval(60)
    gate, booked = threading.Event(), []

    def book():
        gate.wait()
        booked.append("the deposit")

    other = threading.Thread(target=book)
    other.start()
    gate.set()
    if not gap:
        other.join()
    for number in range(5000):
        step(number)
    seen = list(booked)
    other.join()
    if not seen:
        raise RuntimeError("read before it was booked")


if __name__ == "__main__":
    main("--gap" in sys.argv)
