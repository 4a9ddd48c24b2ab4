"""One 96 GiB board at a scale of 1:4096, its allocator, and the question how much is free.

A board is anonymous memory (memfd) that the parent makes and a rank owns. Sizes are given and
reported in bytes of the board; one byte of real memory stands for SCALE of them.
"""

import mmap
import os

from engine.spans import Spans

SCALE = 4096
CAPACITY = 96 << 30
ALIGN = 8  # real bytes, so that every block can hold 64-bit integers
GIB = 1 << 30


class OutOfMemoryError(RuntimeError):
    """A block was asked for that the board cannot hold."""


class Block:
    """Allocated memory of a board: `view` is the real memory, `nbytes` its size on the board."""

    def __init__(self, start, view):
        self.start = start
        self.view = view
        self.nbytes = len(view) * SCALE

    def fill_zero(self):
        """Writes the whole block."""
        self.view[:] = bytes(len(self.view))


def make_board():
    """Makes the memory of one board and returns its descriptor. It vanishes with its last user."""
    fd = os.memfd_create("board")
    os.ftruncate(fd, CAPACITY // SCALE)
    return fd


def real_size(nbytes):
    """The real bytes that stand for `nbytes` of a board."""
    real = -(-nbytes // SCALE)
    return -(-real // ALIGN) * ALIGN


class Device:
    """The board of one rank."""

    def __init__(self, index, board_fd):
        self.index = index
        self._view = memoryview(mmap.mmap(board_fd, CAPACITY // SCALE))
        self._spans = Spans(CAPACITY // SCALE)

    def allocate(self, nbytes):
        """Allocates and returns a block of at least `nbytes`; raises OutOfMemoryError."""
        length = real_size(nbytes)
        start = self._spans.take(length)
        if start is None:
            free, total = self.mem_get_info()
            raise OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {length * SCALE / GIB:.2f} GiB. "
                f"GPU {self.index} has a total capacity of {total / GIB:.2f} GiB "
                f"of which {free / GIB:.2f} GiB is free. "
                f"This process has {(total - free) / GIB:.2f} GiB memory in use."
            )
        return Block(start, self._view[start:start + length])

    def allocate_real(self, length):
        """Allocates a block of at least `length` real bytes, for contents that are real."""
        return self.allocate(length * SCALE)

    def release(self, block):
        """Takes a block back."""
        self._spans.give(block.start, len(block.view))

    def mem_get_info(self):
        """Free and total bytes, like `torch.cuda.mem_get_info`."""
        return self._spans.free * SCALE, CAPACITY


def map_peer(board_fd):
    """Maps another rank's board for reading. It costs address space here, and no memory."""
    return memoryview(mmap.mmap(board_fd, CAPACITY // SCALE, prot=mmap.PROT_READ))


def get_available_gpu_memory(device, cpu_group=None):
    """Free memory in GiB: of this rank, or with `cpu_group` the least over all ranks."""
    free_gpu_memory, _ = device.mem_get_info()
    if cpu_group is not None:
        free_gpu_memory = cpu_group.all_reduce([free_gpu_memory], min)[0]
    return free_gpu_memory / (1 << 30)
