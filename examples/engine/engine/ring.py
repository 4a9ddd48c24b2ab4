"""The ring all-reduce over sockets, as NCCL does it where boards have no direct link.

Every rank sends to the next and hears from the one before. A vector is cut into as many segments
as there are ranks: after N-1 steps each rank holds one finished segment, after N-1 more all of them.
"""

from array import array
from operator import add

from engine.channel import recv_exactly

CHANNELS = 16
CHANNEL_BYTES = 32 << 20  # send and receive buffer of one channel
RENDEZVOUS_BYTES = 32 << 10  # rank 0 keeps the addresses of all
MOST_VALUES = 32768  # of one pass: what lies in the sockets must never fill them


class Group:
    """Some ranks that call the same operations in the same order."""

    def all_gather(self, values):
        """Returns the vectors of all ranks, one after another."""
        width = len(values)
        placed = [0] * (width * self.size)
        placed[self.rank * width:(self.rank + 1) * width] = values
        return self.all_reduce(placed)


class Ring(Group):
    """One rank's place in the ring."""

    def __init__(self, device, rank, size, to_next, from_previous):
        self.rank = rank
        self.size = size
        self._next = to_next
        self._previous = from_previous
        self.buffers = [device.allocate(CHANNEL_BYTES) for _ in range(CHANNELS)]
        if rank == 0:
            self.buffers.append(device.allocate(RENDEZVOUS_BYTES))
        for buffer in self.buffers:
            buffer.fill_zero()

    def all_reduce(self, values, combine=add):
        """Combines the vectors of all ranks, entry by entry; all must call it with one length."""
        result = []
        for start in range(0, len(values), MOST_VALUES):
            result += self._pass(values[start:start + MOST_VALUES], combine)
        return result

    def _pass(self, values, combine):
        size, rank = self.size, self.rank
        cuts = [len(values) * i // size for i in range(size + 1)]
        segments = [values[cuts[i]:cuts[i + 1]] for i in range(size)]
        for step in range(size - 1):
            self._send(segments[(rank - step) % size])
            into = (rank - step - 1) % size
            segments[into] = list(map(combine, segments[into], self._receive(len(segments[into]))))
        for step in range(size - 1):
            self._send(segments[(rank + 1 - step) % size])
            into = (rank - step) % size
            segments[into] = self._receive(len(segments[into]))
        return [value for segment in segments for value in segment]

    def _send(self, segment):
        if segment:
            self._next.sendall(array("q", segment).tobytes())

    def _receive(self, count):
        return array("q", recv_exactly(self._previous, 8 * count)).tolist() if count else []
