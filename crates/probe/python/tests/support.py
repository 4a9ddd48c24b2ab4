"""What the tests of the in-process part share: the package on the path, rings in a temporary folder, and their content."""

import marshal
import os
import shutil
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))

from bystander_overlay import ring as rings  # noqa: E402
from bystander_overlay import inject, hook as hooks, place, rewrite  # noqa: E402


class RingCase(unittest.TestCase):
    """A test with a folder for rings."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.count = 0

    def ring(self, limits=(1000,), captures=8):
        """Makes a fresh ring."""
        self.count += 1
        return rings.Ring("%s/%d.ring" % (self.folder, self.count), list(limits), captures)


def taken(ring):
    """Takes the committed hits out of a ring: `(sequence, probe, values)`, by sequence."""
    found = []
    for slot in range(ring.slots):
        if ring.memory[ring.commit_offset + slot]:
            where = ring.data_offset + slot * ring.slot_bytes
            sequence, _, _, tag = struct.unpack_from("=QQQQ", ring.memory, where)
            start = where + rings.SLOT_HEAD
            payload = ring.memory[start : start + (tag >> rings.LENGTH_SHIFT)]
            found.append((sequence, tag & 0xFFFF, list(marshal.loads(payload))))
            ring.memory[ring.commit_offset + slot] = 0
    return sorted(found, key=lambda item: item[0])


def hits(ring, probe=0):
    """The counter of a probe's hits."""
    return counted(ring, rings.HITS, probe)


def counted(ring, counter, probe=0):
    """One of the counters of a probe."""
    return ring.words[ring.word(counter, probe)]


class Overlay:
    """Stands in for the state of a process: what `Rewriter` needs, and nothing installed."""

    def __init__(self, folder, path, probes):
        self.events = []
        self.record = self
        self.stem = folder
        self.plan = self
        self.PROBES = probes
        self.TARGETS = {path: list(range(len(probes)))}

    def note(self, *event):
        """Keeps an event."""
        self.events.append(event)


def spec(capture, function="f", after=None, line=None, rank=None, unsafe=False, limit=1000, index=0, **more):
    """A probe as the generated plan spells it."""
    return {
        "index": index, "function": function, "line": line, "after": after, "mark": None, "capture": list(capture),
        "rank": rank, "unsafe": unsafe, "limit": limit, **more,
    }  # fmt: skip


class Probed:
    """A source text with probes, executed twice: as it is, and rewritten."""

    def __init__(self, case, source, *probes):
        case.count += 1
        self.overlay = Overlay(case.folder + "/%d" % case.count, "probed.py", list(probes))
        self.rewriter = rewrite.Rewriter(self.overlay, compile)
        self.plain = compile(source, "probed.py", "exec", 0, True)
        self.code = self.rewriter._rewritten(source, "probed.py", 0, {"dont_inherit": True})
        self.names = {"__name__": "probed"}
        if self.code is not None:
            exec(self.code, self.names)

    def taken(self):
        """The hits so far."""
        return taken(self.rewriter.ring)


__all__ = ["Overlay", "Probed", "RingCase", "counted", "hits", "hooks", "inject", "place", "rewrite", "rings", "spec", "taken"]
