"""First-fit allocation of consecutive units: bytes of a board, or slots of a KV cache."""


class Spans:
    """Which parts of `range(size)` are taken. It knows nothing of what lies in them."""

    def __init__(self, size):
        self.size = size
        self.free = size
        self._holes = [(0, size)]  # (start, length), by start, never touching

    def take(self, length):
        """Takes `length` consecutive units; returns their start, or None if no hole is long enough."""
        for i, (start, hole) in enumerate(self._holes):
            if hole >= length:
                rest = [(start + length, hole - length)] if hole > length else []
                self._holes[i:i + 1] = rest
                self.free -= length
                return start
        return None

    def give(self, start, length):
        """Gives units back and joins the holes that now touch."""
        self.free += length
        joined = []
        for hole in sorted(self._holes + [(start, length)]):
            if joined and joined[-1][0] + joined[-1][1] == hole[0]:
                joined[-1] = (joined[-1][0], joined[-1][1] + hole[1])
            else:
                joined.append(hole)
        self._holes = joined
