"""Tests of single parts: allocators, the board's memory, both all-reduces, the sizes of the model."""

import os
import random
import socket
import threading
import unittest
from types import SimpleNamespace

from engine import device as board
from engine.channel import PeerGone
from engine.model import Model, ModelConfig
from engine.model_runner import CONTEXT_BYTES
from engine.one_shot import BLOCK_BYTES, OneShot, TensorGroup, refusal
from engine.pools import KVCacheFull, MLATokenToKVPool, ReqToTokenPool
from engine.ring import Ring
from engine.sizing import get_cell_size_per_token, profile_max_num_token
from engine.spans import Spans


def make_device(index=0):
    fd = board.make_board()
    try:
        return board.Device(index, fd)
    finally:
        os.close(fd)


class SpansTest(unittest.TestCase):
    def test_what_is_taken_never_overlaps_and_all_comes_back(self):
        rng = random.Random(1)
        spans = Spans(1000)
        held = []
        for _ in range(2000):
            if held and rng.random() < 0.5:
                spans.give(*held.pop(rng.randrange(len(held))))
            else:
                length = rng.randint(1, 60)
                start = spans.take(length)
                if start is not None:
                    held.append((start, length))
            units = [u for start, length in held for u in range(start, start + length)]
            self.assertEqual(len(units), len(set(units)))
            self.assertEqual(spans.free, 1000 - len(units))
        for span in held:
            spans.give(*span)
        self.assertEqual(spans.take(1000), 0)


class DeviceTest(unittest.TestCase):
    def test_free_is_capacity_less_what_is_allocated(self):
        device = make_device()
        self.assertEqual(device.mem_get_info(), (96 << 30, 96 << 30))
        block = device.allocate(1 << 30)
        block.fill_zero()
        self.assertEqual(len(block.view), (1 << 30) // board.SCALE)
        self.assertEqual(device.mem_get_info(), (95 << 30, 96 << 30))
        device.release(block)
        self.assertEqual(device.mem_get_info(), (96 << 30, 96 << 30))

    def test_asking_for_more_than_is_free_raises(self):
        device = make_device(3)
        device.allocate(90 << 30)
        with self.assertRaises(board.OutOfMemoryError) as raised:
            device.allocate(7 << 30)
        self.assertEqual(
            str(raised.exception),
            "CUDA out of memory. Tried to allocate 7.00 GiB. GPU 3 has a total capacity of "
            "96.00 GiB of which 6.00 GiB is free. This process has 90.00 GiB memory in use.")
        device.allocate(6 << 30)

    def test_a_peer_sees_what_the_owner_writes(self):
        fd = board.make_board()
        block = board.Device(0, fd).allocate(1 << 20)
        block.view[:] = bytes(range(256))
        peer = board.map_peer(fd)
        os.close(fd)
        self.assertEqual(peer[block.start:block.start + 256], bytes(range(256)))
        self.assertTrue(peer.readonly)


class World:
    """All ranks in one process, a thread for each call."""

    def __init__(self, size):
        self.size = size
        self.fds = [board.make_board() for _ in range(size)]
        self.bells = [os.pipe() for _ in range(size)]
        self.pairs = [socket.socketpair() for _ in range(size)]
        self.parents = [socket.socketpair() for _ in range(size)]
        self.devices = [board.Device(r, fd) for r, fd in enumerate(self.fds)]
        self.rings = [Ring(self.devices[r], r, size, self.pairs[r][0], self.pairs[r - 1][1])
                      for r in range(size)]

    def each(self, call):
        """Runs `call(rank)` for all ranks at once; returns the results, or raises the first error."""
        results = [None] * self.size
        errors = []

        def one(rank):
            try:
                results[rank] = call(rank)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=one, args=(r,), daemon=True) for r in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a rank hangs"
        if errors:
            raise errors[0]
        return results

    def one_shots(self):
        return self.each(lambda r: OneShot(
            self.devices[r], self.rings[r], self.fds, self.bells, self.parents[r][1]))

    def close(self):
        for fd in self.fds + [fd for bell in self.bells for fd in bell]:
            os.close(fd)
        for pair in self.pairs + self.parents:
            for sock in pair:
                sock.close()


class AllReduceTest(unittest.TestCase):
    def world(self, size):
        world = World(size)
        self.addCleanup(world.close)
        return world

    def test_ring_and_one_shot_give_the_true_sum(self):
        for size in (2, 4, 8):
            world = self.world(size)
            one_shots = world.one_shots()
            rng = random.Random(size)
            for length in [1, 2, 7, 16, 100, one_shots[0].most_values] * 5:
                vectors = [[rng.randint(-1 << 40, 1 << 40) for _ in range(length)]
                           for _ in range(size)]
                true_sum = [sum(entry) for entry in zip(*vectors)]
                for way in (world.rings, one_shots):
                    results = world.each(lambda r: way[r].all_reduce(vectors[r]))
                    self.assertEqual(results, [true_sum] * size)

    def test_one_shot_survives_ranks_that_run_ahead(self):
        world = self.world(4)
        one_shots = world.one_shots()

        def many(rank):
            return [one_shots[rank].all_reduce([turn * (rank + 1)])[0] for turn in range(500)]

        self.assertEqual(world.each(many), [[turn * 10 for turn in range(500)]] * 4)

    def test_the_ring_takes_more_than_the_sockets_hold(self):
        world = self.world(2)
        vectors = [list(range(100000)), [1] * 100000]
        results = world.each(lambda r: world.rings[r].all_reduce(vectors[r]))
        self.assertEqual(results[0], [v + 1 for v in range(100000)])
        self.assertEqual(results[0], results[1])

    def test_minimum_and_gather_over_ranks(self):
        world = self.world(4)
        self.assertEqual(
            world.each(lambda r: world.rings[r].all_reduce([r + 5, -r], min)), [[5, -3]] * 4)
        self.assertEqual(
            world.each(lambda r: world.rings[r].all_gather([r, 10 * r])),
            [[0, 0, 1, 10, 2, 20, 3, 30]] * 4)

    def test_a_vector_that_the_one_shot_cannot_hold_takes_the_ring(self):
        world = self.world(2)
        one_shots = world.one_shots()
        groups = [TensorGroup(world.rings[r], one_shots[r]) for r in range(2)]
        length = one_shots[0].most_values + 1
        results = world.each(lambda r: groups[r].all_reduce([r] * length))
        self.assertEqual(results, [[1] * length] * 2)

    def test_one_shot_buffers_are_charged_to_the_board(self):
        world = self.world(2)
        before = [device.mem_get_info()[0] for device in world.devices]
        world.one_shots()
        after = [device.mem_get_info()[0] for device in world.devices]
        self.assertEqual([b - a for b, a in zip(before, after)], [3 * BLOCK_BYTES] * 2)
        self.assertEqual(3 * BLOCK_BYTES, 24 << 20)

    def test_a_rank_that_waits_in_the_one_shot_leaves_when_the_parent_is_gone(self):
        world = self.world(2)
        one_shots = world.one_shots()
        world.parents[0][0].close()
        with self.assertRaises(PeerGone):
            one_shots[0].all_reduce([1])

    def test_a_rank_that_waits_in_the_ring_leaves_when_its_neighbour_is_gone(self):
        world = self.world(2)
        world.pairs[1][0].close()
        with self.assertRaises(PeerGone):
            world.rings[0].all_reduce([1, 2])

    def test_who_may_use_the_one_shot(self):
        self.assertIsNone(refusal(2, full_interconnect=False, forced=False))
        self.assertIsNone(refusal(8, full_interconnect=True, forced=False))
        self.assertIsNone(refusal(8, full_interconnect=False, forced=True))
        self.assertIn("more than two PCIe-only GPUs", refusal(8, False, False))
        self.assertIn("unsupported world size: 3", refusal(3, True, True))


class PoolsTest(unittest.TestCase):
    def test_long_requests_take_several_runs_and_give_all_back(self):
        device = make_device()
        kv_pool = MLATokenToKVPool(device, 20000, 1, 70272, 61)
        table = ReqToTokenPool(device, 2048, 262144)
        hole = kv_pool.take(100)
        runs = kv_pool.take(9000)
        self.assertEqual([length for _, length in runs], [4096, 4096, 808])
        kv_pool.give(hole)
        slots = table.slots(table.take_row([start for start, _ in runs]), 9000)
        self.assertEqual(slots, list(range(100, 9100)))
        self.assertEqual(kv_pool.used, 9000)
        with self.assertRaises(KVCacheFull):
            kv_pool.take(11001)
        self.assertEqual(kv_pool.used, 9000)
        kv_pool.give(runs)
        self.assertEqual(kv_pool.used, 0)

    def test_the_last_slot_holds_its_latents(self):
        kv_pool = MLATokenToKVPool(make_device(), 1000, 1, 70272, 61)
        index = kv_pool.latent_of_layer(60)
        kv_pool.write(999, index, -1234)
        kv_pool.write(998, index, 10 ** 9)
        self.assertEqual(kv_pool.read([998, 999], index), [32767, -1234])


class StoryNumbersTest(unittest.TestCase):
    """The numbers of the story, from allocations on the board of rank 0 of 8."""

    @classmethod
    def setUpClass(cls):
        cls.config = ModelConfig()
        cls.device = make_device()
        cls.device.allocate(CONTEXT_BYTES)
        Ring(cls.device, 0, 8, None, None)
        cls.total = board.get_available_gpu_memory(cls.device)
        cls.model = Model(cls.config, cls.device, None, 42, 0, 8)
        cls.avail = board.get_available_gpu_memory(cls.device)

    def tokens(self, fraction):
        runner = SimpleNamespace(
            device=self.device, cpu_group=None, mem_fraction_static=fraction,
            model_config=self.config, server_args=SimpleNamespace(max_total_tokens=None))
        runner.get_cell_size_per_token = lambda: get_cell_size_per_token(runner)
        return profile_max_num_token(runner, self.total)

    def test_total_avail_and_cell(self):
        self.assertEqual(f"{self.total:.3f}", "93.999")
        self.assertEqual(f"{self.avail:.3f}", "21.697")
        self.assertEqual(get_cell_size_per_token(SimpleNamespace(model_config=self.config)), 70272)

    def test_rest_and_tokens_at_the_fractions_of_the_story(self):
        self.assertEqual(f"{self.avail - self.total * (1 - 0.55):.3f}", "-20.603")
        self.assertEqual(f"{self.avail - self.total * (1 - 0.88):.3f}", "10.417")
        self.assertEqual(self.tokens(0.55) // 100, -3149)
        self.assertEqual(self.tokens(0.88) // 10, 15917)

    def test_only_a_fraction_above_the_break_even_leaves_a_token(self):
        self.assertEqual(f"{1 - self.avail / self.total:.6f}", "0.769179")
        self.assertLessEqual(self.tokens(0.769179), 0)
        self.assertGreater(self.tokens(0.76918), 0)

    def test_the_weights_are_written_and_depend_on_the_seed(self):
        other = Model(ModelConfig(num_hidden_layers=8), make_device(), None, 43, 0, 8)
        self.assertNotEqual(bytes(other.layers[0]), bytes(self.model.layers[0]))
        for layer in self.model.layers:
            self.assertGreater(len(set(layer.tolist())), 250)


if __name__ == "__main__":
    unittest.main()
