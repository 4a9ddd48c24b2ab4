"""The one-shot all-reduce over shared memory ("custom all-reduce").

Every rank writes its vector into its own buffer, tells all others, and sums what lies in the buffers
of all. Three blocks of 8 MiB per rank are charged to the board. A rank may write its next vector
while a slow one still reads the last: the buffer has two halves, used in turn. Nobody can be two
turns ahead, because a turn ends only when all ranks have rung.
"""

import os
import select
import struct
from array import array

from engine.channel import PeerGone
from engine.device import map_peer
from engine.log import log
from engine.ring import Group

BLOCK_BYTES = 8 << 20
WORLD_SIZES = (2, 4, 6, 8)
HEADER = struct.Struct("<qq")  # turn, count of values


def refusal(size, full_interconnect, forced):
    """Why the one-shot all-reduce can not be used, or None."""
    if size not in WORLD_SIZES:
        return f"due to an unsupported world size: {size}. Supported world sizes: {list(WORLD_SIZES)}."
    if size > 2 and not full_interconnect and not forced:
        return "it's not supported on more than two PCIe-only GPUs."
    return None


class OneShot:
    """One rank's buffers and its view of all others'."""

    def __init__(self, device, ring, boards, bells, parent):
        self.rank, self.size = ring.rank, ring.size
        self.blocks = [device.allocate(BLOCK_BYTES) for _ in range(3)]
        for block in self.blocks:
            block.fill_zero()
        signal, buffer, rank_data = self.blocks
        self._signal, self._buffer = signal.view, buffer.view
        self._half = len(buffer.view) // 2
        self.most_values = self._half // 8

        places = ring.all_gather([signal.start, buffer.start])
        rank_data.view[:8 * len(places)] = array("q", places).tobytes()
        self._peers = []
        for peer in range(self.size):
            at, data = rank_data.view[16 * peer:16 * peer + 16].cast("q")
            memory = map_peer(boards[peer])
            self._peers.append((memory[at:at + len(self._signal)],
                                memory[data:data + len(self._buffer)]))

        self._turn = 0
        self._rung = [0, 0]
        self._my_bell = bells[self.rank][0]
        self._other_bells = [bells[p][1] for p in range(self.size) if p != self.rank]
        self._poll = select.poll()
        self._poll.register(self._my_bell, select.POLLIN)
        self._poll.register(parent, 0)  # a hang-up is always reported

    def all_reduce(self, values):
        """Sums the vectors of all ranks, at most `most_values` long."""
        turn, parity, count = self._turn, self._turn % 2, len(values)
        start, end = parity * self._half, parity * self._half + 8 * count
        self._buffer[start:end] = array("q", values).tobytes()
        HEADER.pack_into(self._signal, parity * HEADER.size, turn, count)
        for bell in self._other_bells:
            os.write(bell, b"\1" if parity else b"\0")
        self._wait(parity)

        vectors = []
        for signal, buffer in self._peers:
            if HEADER.unpack_from(signal, parity * HEADER.size) != (turn, count):
                raise RuntimeError("the ranks have lost step in the one-shot all-reduce")
            vectors.append(buffer[start:end].cast("q").tolist())
        self._turn += 1
        return list(map(sum, zip(*vectors)))

    def _wait(self, parity):
        """Waits until all others have rung for this turn."""
        while self._rung[parity] < self.size - 1:
            for fd, event in self._poll.poll():
                if fd != self._my_bell:
                    raise PeerGone("the parent is gone")
                for rung in os.read(fd, 64):
                    self._rung[rung] += 1
        self._rung[parity] = 0


def make_one_shot(args, device, ring, links):
    """Sets the one-shot all-reduce up where it can run; logs why it can not and returns None."""
    if args.disable_custom_all_reduce or ring.size == 1:
        return None
    forced = os.environ.get("FORCE_CUSTOM_AR") == "1"
    reason = refusal(ring.size, links.full_interconnect, forced)
    if reason is not None:
        log(f"Custom allreduce is disabled because {reason} "
            "To silence this warning, specify --disable-custom-all-reduce explicitly.")
        return None
    return OneShot(device, ring, links.boards, links.bells, links.parent)


class TensorGroup(Group):
    """The ranks of one model: the one-shot all-reduce for what fits it, the ring for the rest."""

    def __init__(self, ring, one_shot):
        self.rank, self.size = ring.rank, ring.size
        self._ring = ring
        self._one_shot = one_shot

    def all_reduce(self, values):
        """Sums the vectors of all ranks."""
        if self._one_shot is not None and len(values) <= self._one_shot.most_values:
            return self._one_shot.all_reduce(values)
        return self._ring.all_reduce(values)
