"""What a hit must pass before any other work: the counter of passes, the limit, the rate, the condition. In this order.

The counters lie in the ring and are exact also under threads: a number is taken in one C call, and what is stored only grows.
"""

from itertools import count
from time import monotonic_ns

from bystander_overlay.reading import Unreadable
from bystander_overlay.ring import HITS, MISJUDGED, PASSES, THROTTLED
from bystander_overlay.trouble import belongs_to_program

_SECOND = 1000000000


class Gate:
    """The gate of one probe in one process: `passes()` first, then, where there is a condition, `holds(values)`."""

    __slots__ = ("passes", "holds")

    def __init__(self, ring, index, limit, rate, condition):
        if index not in ring.admissions:
            # A module that is loaded again goes on with what was let through before.
            ring.admissions[index] = _Admitted(limit), Bucket(rate, ring.counter(THROTTLED, index)) if rate is not None else None
        state, bucket = ring.admissions[index]
        self.holds = None
        if condition is not None:
            self.passes = _conditional(ring, index, state, bucket)
            self.holds = _judging(ring, index, state, bucket, condition)
        elif bucket is not None:
            self.passes = _limited(ring, index, state, bucket)
        else:
            self.passes = _plain(ring, index, limit)


class _Admitted:
    """How many hits were let through: `full` once that is the limit."""

    __slots__ = ("limit", "full", "number")

    def __init__(self, limit):
        self.limit = limit
        self.full = limit <= 0
        self.number = count().__next__

    def take(self, number):
        """Tells whether the hit with this number is let through."""
        if number + 1 >= self.limit:
            self.full = True
        return number < self.limit


class Bucket:
    """A token bucket as one number, the time at which it is full: `rate` tokens a second, room for one second's worth, at least one.

    It is asked before any other work, and only a pass whose condition held takes a token: else what does not hold would use them up.
    """

    __slots__ = ("interval", "room", "full_at", "turn_away")

    def __init__(self, rate, turn_away):
        self.interval = int(_SECOND / rate)
        self.room = max(0, _SECOND - self.interval)
        self.full_at = 0
        self.turn_away = turn_away

    def has(self):
        """Tells whether there is a token; counts the pass where there is none."""
        if self.full_at - monotonic_ns() > self.room:
            self.turn_away()
            return False
        return True

    def take(self):
        """Takes a token; counts the pass where there is none, as where another thread was faster."""
        now = monotonic_ns()
        full_at = self.full_at
        if full_at - now > self.room:
            self.turn_away()
            return False
        self.full_at = (full_at if full_at > now else now) + self.interval
        return True


def _plain(ring, index, limit):
    count_pass, count_hit = ring.counter(PASSES, index), ring.counter(HITS, index)

    def passes():
        count_pass()
        return count_hit() < limit

    return passes


def _limited(ring, index, state, bucket):
    count_pass, count_hit = ring.counter(PASSES, index), ring.counter(HITS, index)
    number = state.number

    def passes():
        count_pass()
        count_hit()
        return not state.full and bucket.take() and state.take(number())

    return passes


def _conditional(ring, index, state, bucket):
    count_pass = ring.counter(PASSES, index)

    def passes():
        count_pass()
        return not state.full and (bucket is None or bucket.has())

    return passes


def _judging(ring, index, state, bucket, condition):
    count_hit, count_misjudged = ring.counter(HITS, index), ring.counter(MISJUDGED, index)

    def holds(values):
        try:
            held = condition.holds(values)
        except Unreadable:
            held = None
        except Exception as error:
            if belongs_to_program(error):
                raise
            held = None
        if held is None:
            count_misjudged()
        return bool(held) and (bucket is None or bucket.take()) and state.take(count_hit())

    return holds
