"""The ring of one process: a file in shared memory that the hit path only writes to, and the reader outside only reads.

Layout (integers in the machine's order, unsigned 64 bits unless said otherwise):

    words 0-8   magic, version, slots, bytes a slot, pid, probes, errors, offset of the commit bytes, offset of the slots
    word 16+i   hits of probe i, never decreasing
    then        256 bytes: one length byte and the process's name as `multiprocessing` keeps it
    then        one commit byte a slot: 0 free, 1 written; the writer sets it last, the reader clears it
    then        the slots: sequence number, time in ns, thread, length of the payload * 65536 + probe, payload

A reader that dies leaves the ring full; a writer that dies leaves everything it committed.
"""

import mmap
import os
import sys
from _functools import partial
from _operator import itemgetter
from _struct import Struct
from itertools import count

from bystander_overlay import reading

MAGIC = 0x474E495259425945
VERSION = 1
HITS = 16
ERRORS = 6
SLOT_HEAD = 32
SLOT_FORMAT = "=QQQQ%ds"
LENGTH_SHIFT = 16
_NAME_BYTES = 256
_PAGE = 4096
_STORES_AT_ONCE = sys.version_info >= (3, 10)
_SLOTS_LEAST, _SLOTS_MOST = 64, 8192


def _round(value, step):
    return (value + step - 1) // step * step


class Ring:
    """A mapped ring with everything that the hit path needs already in place."""

    def __init__(self, path, limits, captures):
        self.slots = _SLOTS_LEAST
        while self.slots < min(sum(limits), _SLOTS_MOST):
            self.slots *= 2
        self.slot_bytes = min(_PAGE, max(1024, _round(SLOT_HEAD + 120 * captures, 256)))
        self.name_offset = (HITS + len(limits)) * 8
        self.commit_offset = self.name_offset + _NAME_BYTES
        self.data_offset = _round(self.commit_offset + self.slots, _PAGE)
        self.memory = _map(path, self.data_offset + self.slots * self.slot_bytes)
        self.words = memoryview(self.memory).cast("Q")
        self.claim = count().__next__
        self.counters = {}
        self.capacity = self.slot_bytes - SLOT_HEAD
        self._pack = Struct(SLOT_FORMAT % self.capacity).pack_into
        self._head(len(limits))

    def _head(self, probes):
        head = (VERSION, self.slots, self.slot_bytes, os.getpid(), probes, 0, self.commit_offset, self.data_offset)
        for index, value in enumerate(head, 1):
            self.words[index] = value
        self.note_name()
        self.words[0] = MAGIC

    def counter(self, index):
        """The counter of a probe's hits in this ring: a callable that gives 0, 1, 2… and never skips or repeats under threads."""
        if index not in self.counters:
            self.counters[index] = _counter(self.words, HITS + index)
        return self.counters[index]

    def is_taken(self, sequence):
        """Tells whether the slot of a sequence number still waits for the reader: the ring is full."""
        return self.memory[self.commit_offset + (sequence & (self.slots - 1))]

    def put(self, sequence, time_ns, thread, probe, payload):
        """Writes one hit and commits it."""
        slot = sequence & (self.slots - 1)
        where = self.data_offset + slot * self.slot_bytes
        self._pack(self.memory, where, sequence, time_ns, thread, len(payload) << LENGTH_SHIFT | probe, payload)
        self.memory[self.commit_offset + slot] = 1

    def note_name(self):
        """Keeps the process's name, from which a rank may be told; called again at the first hit, when the name is known."""
        name = process_name()
        if name is not None:
            data = name.encode("utf-8", "replace")[: _NAME_BYTES - 1]
            self.memory[self.name_offset + 1 : self.name_offset + 1 + len(data)] = data
            self.memory[self.name_offset] = len(data)

    def note_error(self):
        """Counts a hit that the overlay itself failed to record."""
        self.words[ERRORS] += 1


def _counter(words, index):
    """Counts in memory too. The hit path itself stores a number that is more than what is stored; before 3.10 the interpreter may
    switch threads between its two steps, so there the store happens inside the same C call."""
    if _STORES_AT_ONCE:
        return count().__next__
    store = map(partial(words.__setitem__, index), count(1))
    return map(itemgetter(0), zip(count(), store)).__next__


def process_name():
    """The name that `multiprocessing` gave this process, read where it is stored; None where there is none."""
    module = sys.modules.get("multiprocessing.process")
    if module is None:
        return None
    try:
        name = reading.attribute(reading.attribute(module, "_current_process"), "_name")
    except reading.Unreadable:
        return None
    return name if type(name) is str else None


def _map(path, size):
    """Creates, reserves and maps the file; touches every page, so that no hit is the first to."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(handle, 0, size)
        memory = _without_descriptor(handle, size)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)
    for offset in range(0, size, _PAGE):
        memory[offset] = 0
    return memory


def _without_descriptor(handle, size):
    """Maps a file and leaves the program's descriptors as they were: `mmap` keeps a duplicate that a program could stumble on."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(handle, size, trackfd=False)
    spare = os.dup(handle)
    os.close(spare)
    memory = mmap.mmap(handle, size)
    _keep(memory)
    mine, other = os.fstat(handle), _status(spare)
    if other is not None and (mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino):
        os.close(spare)
    return memory


def _status(handle):
    try:
        return os.fstat(handle)
    except OSError:
        return None


def _keep(memory):
    """Holds a mapping until the interpreter is gone: freeing it would close a number that may be the program's by then."""
    os.register_at_fork(after_in_parent=lambda: memory and None)
