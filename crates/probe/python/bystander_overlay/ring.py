"""The rings of one process: files in shared memory that the hit path only writes to, and the reader outside only reads.

Plain Python writes slots (`.ring`), the native recorder a stream of bytes (`.stream`). The head of both (integers in the machine's
order, unsigned 64 bits unless said otherwise):

    words 0-8   magic, layout (2 slots, 3 stream), slots | bytes of the stream, bytes a slot | 0, pid, probes, errors,
                offset of the commit bytes | head: bytes ever published, offset of the data
    words 9-10  unused | tail: bytes ever freed by the reader, and its complement, without which it is not believed
    word 11     forks of this process, for the children that leave no account of themselves
    word 16+4i  of probe i, never decreasing: passes, hits, passes turned away by the rate, conditions that could not be evaluated
    then        256 bytes: one length byte and the process's name as `multiprocessing` keeps it
    slots       one commit byte a slot: 0 free, 1 written; the writer sets it last, the reader clears it
                then the slots: sequence number, time in ns, thread, length of the payload * 65536 + probe, payload
    stream      from a page on, records one behind the other: the complement of the bytes before it as its mark, time in ns, number,
                thread, length of the payload << 32 | probe << 16 | values, payload, up to a multiple of 8 bytes

A reader that dies leaves the ring full; a writer that dies leaves everything it committed.
"""

import os
import sys
from _functools import partial
from _operator import itemgetter
from _struct import Struct
from itertools import count

from bystander_overlay import reading

MAGIC = 0x474E495259425945
LAYOUT, STREAM_LAYOUT = 2, 3
COUNTERS, STRIDE = 16, 4
PASSES, HITS, THROTTLED, MISJUDGED = range(STRIDE)
ERRORS, HEAD, TAIL, FORKS = 6, 7, 9, 11
SLOT_HEAD = 32
SLOT_FORMAT = "=QQQQ%ds"
LENGTH_SHIFT = 16
_NAME_BYTES = 256
_NOTHING_FREED = (1 << 64) - 1
_PAGE = 4096
STORES_AT_ONCE = sys.version_info >= (3, 10)
_SLOTS_LEAST, _SLOTS_MOST = 64, 8192


def _round(value, step):
    return (value + step - 1) // step * step


class Ring:
    """A mapped ring with everything that the hit path needs already in place; without a path it is in memory of its own, to try a hit with."""

    def __init__(self, path, limits, captures):
        self.slots = _SLOTS_LEAST
        while self.slots < min(sum(limits), _SLOTS_MOST):
            self.slots *= 2
        self.slot_bytes = min(_PAGE, max(1024, _round(SLOT_HEAD + 120 * captures, 256)))
        self.name_offset = (COUNTERS + STRIDE * len(limits)) * 8
        self.commit_offset = self.name_offset + _NAME_BYTES
        self.data_offset = _round(self.commit_offset + self.slots, _PAGE)
        size = self.data_offset + self.slots * self.slot_bytes
        self.memory = bytearray(size) if path is None else _map(path, size)
        self.words = memoryview(self.memory).cast("Q")
        self.claim = count().__next__
        self.counters = {}
        self.forks = _counter(self.words, FORKS)
        self.admissions = {}
        self.capacity = self.slot_bytes - SLOT_HEAD
        self._pack = Struct(SLOT_FORMAT % self.capacity).pack_into
        self._head(len(limits))

    def _head(self, probes):
        head = (LAYOUT, self.slots, self.slot_bytes, os.getpid(), probes, 0, self.commit_offset, self.data_offset)
        for index, value in enumerate(head, 1):
            self.words[index] = value
        self.note_name()
        self.words[0] = MAGIC

    def word(self, counter, index):
        """The index of a probe's counter among the words."""
        return COUNTERS + STRIDE * index + counter

    def numbers_of(self, counter, index):
        """A callable that gives 0, 1, 2… and never skips or repeats under threads; what counts with it stores the next number."""
        word = self.word(counter, index)
        if word not in self.counters:
            self.counters[word] = _counter(self.words, word)
        return self.counters[word]

    def counter(self, counter, index):
        """A callable that counts in the ring and gives the number before."""
        words, word, take = self.words, self.word(counter, index), self.numbers_of(counter, index)

        def count_one():
            number = take()
            if words[word] <= number:
                words[word] = number + 1
            return number

        return count_one

    def is_taken(self, sequence):
        """Tells whether the slot of a sequence number still waits for the reader: the ring is full."""
        return self.memory[self.commit_offset + (sequence & (self.slots - 1))]

    def put(self, sequence, time_ns, thread, probe, payload):
        """Writes one hit and commits it."""
        slot = sequence & (self.slots - 1)
        where = self.data_offset + slot * self.slot_bytes
        self._pack(self.memory, where, sequence, time_ns, thread, len(payload) << LENGTH_SHIFT | probe, payload)
        self.memory[self.commit_offset + slot] = 1

    def free(self):
        """Frees every slot, as a reader does that has read them."""
        self.memory[self.commit_offset : self.commit_offset + self.slots] = bytes(self.slots)

    def note_name(self):
        """Keeps the process's name, from which a rank may be told; called again at the first hit, when the name is known."""
        name = process_name()
        if name is not None:
            data = name.encode("utf-8", "replace")[: _NAME_BYTES - 1]
            self.memory[self.name_offset + 1 : self.name_offset + 1 + len(data)] = data
            self.memory[self.name_offset] = len(data)

    def count_fork(self):
        """Counts a fork of this process."""
        number = self.forks()
        if self.words[FORKS] <= number:
            self.words[FORKS] = number + 1

    def note_error(self):
        """Counts a hit that the overlay itself failed to record."""
        self.words[ERRORS] += 1


def _counter(words, index):
    """Counts in memory too. The hit path itself stores a number that is more than what is stored; before 3.10 the interpreter may
    switch threads between its two steps, so there the store happens inside the same C call."""
    if STORES_AT_ONCE:
        return count().__next__
    store = map(partial(words.__setitem__, index), count(1))
    return map(itemgetter(0), zip(count(), store)).__next__


def stream(recorder, state, path, size, probes):
    """Creates the file of a stream, lets the native recorder map it, and then marks it as a ring; keeps no descriptor."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        offset = _open_stream(recorder, state, handle, size, probes)
        words = [MAGIC, STREAM_LAYOUT, size, 0, os.getpid(), probes, 0, 0, offset, 0, _NOTHING_FREED]
        os.pwrite(handle, Struct("=%dQ" % len(words)).pack(*words), 0)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)


def scratch(recorder, state, size):
    """Lets the native recorder map a stream that has no name; gives its descriptor, which is the caller's to close."""
    handle = os.memfd_create("bystander", os.MFD_CLOEXEC)
    try:
        _open_stream(recorder, state, handle, size, 1)
    except BaseException:
        os.close(handle)
        raise
    return handle


def discard(handle):
    """Frees all that was published, as the reader outside does after it has read; gives how many bytes that were, ever."""
    published = Struct("=Q").unpack(os.pread(handle, 8, HEAD * 8))[0]
    os.pwrite(handle, Struct("=QQ").pack(published, _NOTHING_FREED ^ published), TAIL * 8)
    return published


def _open_stream(recorder, state, handle, size, probes):
    offset = _round((COUNTERS + STRIDE * probes) * 8 + _NAME_BYTES, os.sysconf("SC_PAGE_SIZE"))
    os.posix_fallocate(handle, 0, offset + size)
    recorder.open(state, handle, offset, size, probes)
    return offset


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
    import mmap

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
