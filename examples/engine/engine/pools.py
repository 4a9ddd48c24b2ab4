"""The request table and the KV cache: blocks of the board, made once after the sizing.

At 1:4096 the 70,272 bytes of a token's cache are 17 real bytes: eight 16-bit latents, of which each
serves the layers of one eighth of the model. One entry of the request table stands for 4,096
positions, so a request takes its slots in runs of up to 4,096 consecutive ones.
"""

import struct

from engine.device import SCALE
from engine.spans import Spans

INT32 = 4
RUN = SCALE  # positions that one table entry stands for


class KVCacheFull(RuntimeError):
    """A request needs more slots than the KV cache has."""


class ReqToTokenPool:
    """Which slots each running request holds: `[rows, context length + 4]` of int32."""

    def __init__(self, device, size, max_context_len):
        nbytes = size * (max_context_len + 4) * INT32
        self.block = device.allocate(nbytes)
        self.block.fill_zero()
        self.size = size
        self._entries = (max_context_len + 4) // RUN
        self._table = self.block.view.cast("i")
        self._rows = list(range(size - 1, -1, -1))

    def take_row(self, run_starts):
        """Takes a row and writes the first slot of each run into it."""
        row = self._rows.pop()
        for i, start in enumerate(run_starts):
            self._table[row * self._entries + i] = start
        return row

    def slots(self, row, length):
        """The slots of the first `length` positions of a row."""
        first = row * self._entries
        return [self._table[first + i // RUN] + i % RUN for i in range(length)]

    def give_row(self, row):
        """Takes a row back."""
        self._rows.append(row)


class MLATokenToKVPool:
    """The KV cache: `size` slots and one page of padding, and who holds which."""

    def __init__(self, device, size, page_size, cell_size, num_layers):
        self.block = device.allocate((size + page_size) * cell_size)
        self.block.fill_zero()
        self.size = size
        self._slot_bytes = cell_size // SCALE
        latents = self._slot_bytes // 2
        self._layers_per_latent = -(-num_layers // latents)
        self._spans = Spans(size)

    @property
    def used(self):
        """Slots that requests hold now."""
        return self.size - self._spans.free

    def take(self, count):
        """Takes `count` slots as runs `(start, length)`; raises KVCacheFull and takes none."""
        runs = []
        while count:
            length = min(count, RUN)
            start = self._spans.take(length)
            if start is None:
                self.give(runs)
                raise KVCacheFull(f"{count} more KV slots are needed, {self._spans.free} are free")
            runs.append((start, length))
            count -= length
        return runs

    def give(self, runs):
        """Takes slots back."""
        for start, length in runs:
            self._spans.give(start, length)

    def latent_of_layer(self, layer):
        """Which latent of a slot a layer reads."""
        return layer // self._layers_per_latent

    def first_layer_of_latent(self, index):
        """The layer that writes a latent."""
        return index * self._layers_per_latent

    def write(self, slot, index, value):
        """Writes one latent, held to 16 bits."""
        held = max(-32768, min(32767, value))
        struct.pack_into("<h", self.block.view, slot * self._slot_bytes + 2 * index, held)

    def read(self, slots, index):
        """Reads one latent of several slots."""
        view, stride, offset = self.block.view, self._slot_bytes, 2 * index
        return [struct.unpack_from("<h", view, s * stride + offset)[0] for s in slots]
