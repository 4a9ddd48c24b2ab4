"""The ring and the hit path: threads, a full ring, limits, forks, signals, references, and what goes wrong in a hit."""

import gc
import os
import signal
import sys
import threading
import unittest
import weakref

from support import Probed, RingCase, hits, rings, spec, taken
from bystander_overlay import encode, statement, trouble

SOURCE = "def f(a):\n    b = a + 1\n    return b\n"


class HitPath(RingCase):
    def test_the_limit_stops_records_and_not_the_counter(self):
        probed = Probed(self, SOURCE, spec(["a", "b"], after="b = ...", limit=5))
        for number in range(20):
            probed.names["f"](number)
        self.assertEqual([values for _, _, values in probed.taken()], [[number, number + 1] for number in range(5)])
        self.assertEqual(hits(probed.rewriter.ring), 20)

    def test_a_full_ring_drops_and_counts_and_goes_on_when_there_is_room(self):
        for capture in (["a"], ["a + 0"], ["a", "nowhere"]):
            probed = Probed(self, SOURCE, spec(capture, after="b = ...", limit=10**9))
            ring = probed.rewriter.ring
            for number in range(ring.slots + 50):
                probed.names["f"](number)
            self.assertEqual([(sequence, values[0]) for sequence, _, values in taken(ring)], [(number, number) for number in range(ring.slots)])
            self.assertEqual(hits(ring), ring.slots + 50)
            probed.names["f"](-1)
            self.assertEqual([(sequence, values[0]) for sequence, _, values in taken(ring)], [(ring.slots + 50, -1)])

    def test_threads_lose_no_count_and_tear_no_record(self):
        probed = Probed(self, SOURCE, spec(["a", "b"], after="b = ...", limit=10**9))
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        each, workers = 2000, 8

        def work(start):
            for number in range(start, start + each):
                probed.names["f"](number)

        threads = [threading.Thread(target=work, args=(index * 10**6,)) for index in range(workers)]
        seen = []
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            seen += probed.taken()
        for thread in threads:
            thread.join()
        seen += probed.taken()
        self.assertEqual(hits(probed.rewriter.ring), each * workers)
        self.assertTrue(all(values[1] == values[0] + 1 for _, _, values in seen))
        numbers = [values[0] for _, _, values in seen]
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertGreater(len(seen), 1000)

    def test_no_reference_outlives_a_hit(self):
        class Thing:
            pass

        for capture in (["a"], ["a", "b"], ["a", "nothing"]):
            probed = Probed(self, "def f(a):\n    if a is None:\n        nothing = 1\n    b = [a, {'k': a}]\n    return 0\n", spec(capture, after="b = ..."))
            thing = Thing()
            watch = weakref.ref(thing)
            probed.names["f"](thing)
            del thing
            gc.collect()
            self.assertIsNone(watch(), capture)
            self.assertEqual(len(probed.taken()), 1)

    def test_a_value_is_that_of_the_hit_and_not_a_later_one(self):
        probed = Probed(self, "def f(a):\n    b = 1\n    a.append(2)\n    return a\n", spec(["a"], after="b = 1"))
        probed.names["f"]([1])
        self.assertEqual(probed.taken()[0][2][0]["items"], [1])

    def test_values_too_large_for_a_slot_keep_their_type_and_length(self):
        names = ["v%d" % index for index in range(40)]
        source = "def f(%s):\n    b = 1\n    return b\n" % ", ".join(names)
        probed = Probed(self, source, spec(names, after="b = 1"))
        probed.names["f"](*(["x" * 200] * 39 + [7]))
        values = probed.taken()[0][2]
        self.assertEqual((len(values), values[39]), (40, 7))
        self.assertEqual((values[0]["type"], values[0]["len"], values[0]["truncated"]), ("str", 200, True))

    def test_a_list_with_foreign_items_is_encoded_and_never_marshalled(self):
        probed = Probed(self, SOURCE.replace("a + 1", "1"), spec(["a"], after="b = ..."))
        probed.names["f"]((1, bytearray(b"x"), memoryview(b"y")))
        items = probed.taken()[0][2][0]["items"]
        self.assertEqual([items[0], items[1]["type"], items[2]], [1, "bytearray", {"type": "memoryview"}])


class Trouble(RingCase):
    def test_an_exception_of_a_signal_handler_reaches_the_program(self):
        class Alarm(Exception):
            pass

        def ring(number, frame):
            raise Alarm

        previous = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        for capture in (["a"], ["a + 1"]):
            probed = Probed(self, SOURCE, spec(capture, after="b = ...", limit=10**9))
            for _ in range(8):
                with self.assertRaises(Alarm):
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    while True:
                        probed.names["f"](1)

    def test_an_interrupt_reaches_the_program(self):
        probed = Probed(self, SOURCE, spec(["a"], after="b = ...", limit=10**9))
        previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, previous)
        for _ in range(8):
            with self.assertRaises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.002)
                while True:
                    probed.names["f"](1)

    def test_a_failure_of_the_overlay_is_counted_and_not_raised(self):
        probed = Probed(self, SOURCE, spec(["a"], after="b = ..."))
        real = encode.encode
        encode.encode = None
        try:
            self.assertEqual(probed.names["f"](2), 3)
            self.assertEqual(probed.names["f"](complex(1, 2)), complex(2, 2))
        finally:
            encode.encode = real
        self.assertEqual(probed.rewriter.ring.words[rings.ERRORS], 1)
        self.assertEqual(hits(probed.rewriter.ring), 2)
        self.assertEqual([values for _, _, values in probed.taken()], [[2]])

    def test_the_recursion_limit_is_the_programs(self):
        source = "def f(a):\n    b = a + 1\n    return f(b)\n"
        probed = Probed(self, source, spec(["a", "a + 1"], after="b = ...", limit=10**9))
        try:
            probed.names["f"](0)
            self.fail("no recursion error")
        except RecursionError as error:
            trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        if statement.SURVIVES_RECURSION:
            self.assertEqual((trace.tb_frame.f_code.co_name, trace.tb_lineno), ("f", 3))

    def test_the_programs_exception_state_is_untouched(self):
        source = "import sys\ndef f(a):\n    try:\n        raise ValueError(a)\n    except ValueError:\n        b = 1\n        return sys.exc_info()[1].args\n"
        probed = Probed(self, source, spec(["a", "nowhere", "a + 1"], after="b = 1"))
        self.assertEqual(probed.names["f"](3), (3,))

    def test_a_nested_hit_in_a_signal_handler_keeps_its_staged_values_apart(self):
        source = "def f(a, again):\n    if a < 0:\n        u = 0\n    u = a\n    b = 1\n    return b\n"
        probed = Probed(self, source.replace("    u = a\n", "    for u in [a]: pass\n"), spec(["u", "a"], after="b = 1", limit=10**9))
        signal.signal(signal.SIGALRM, lambda number, frame: probed.names["f"](10**6, 0))
        self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        seen = []
        for number in range(3000):
            probed.names["f"](number, 1)
            seen += probed.taken()
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertTrue(all(u == a for _, _, (u, a) in seen))
        self.assertGreater(len(seen), 2000)


class Forks(RingCase):
    def test_a_child_writes_to_a_ring_of_its_own(self):
        probed = Probed(self, SOURCE, spec(["a"], after="b = ..."))
        probed.names["f"](1)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                probed.overlay.stem += ".child"
                probed.rewriter.forked()
                probed.names["f"](2)
                status = 0 if [values for _, _, values in probed.taken()] == [[2]] else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        probed.names["f"](3)
        self.assertEqual([values for _, _, values in probed.taken()], [[1], [3]])

    def test_no_descriptor_is_left_and_the_mapping_lives(self):
        before = sorted(os.listdir("/proc/self/fd"))
        ring = self.ring()
        self.assertEqual(sorted(os.listdir("/proc/self/fd")), before)
        os.unlink(self.folder + "/1.ring")
        ring.memory[0] = 1
        self.assertEqual(ring.memory[0], 1)


class Names(unittest.TestCase):
    def test_an_exception_of_the_program_is_told_from_one_of_ours(self):
        try:
            raise LookupError
        except LookupError as error:
            self.assertTrue(trouble.belongs_to_program(error))


if __name__ == "__main__":
    unittest.main()
