"""Tests of whole servers: start, numbers, answers, failures, and what is left afterwards."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from tests.server import LIMIT, ROOT, SMALL, Engine, wait_for

NOT_ENOUGH = (
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
    "Current value: self.server_args.mem_fraction_static=0.55\n")
REFUSED = "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs"


def shared_memory():
    """Names in shared memory."""
    return set(os.listdir("/dev/shm"))


def prefixed(rank):
    return r"(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d" + (f" TP{rank}" if rank is not None else "") + r"\] "


class StartTest(unittest.TestCase):
    def test_a_fraction_of_55_percent_fails_on_every_rank_with_its_traceback_first(self):
        with Engine("--mem-fraction-static", "0.55") as engine:
            self.assertEqual(engine.wait_end(), 1)
            log = engine.log
        self.assertEqual(log.count(NOT_ENOUGH), 8, log)
        for rank in range(8):
            self.assertRegex(log, prefixed(rank) + r"Scheduler hit an exception: Traceback \(most recent")
        self.assertLess(log.index(NOT_ENOUGH), log.index("Received sigquit from a child process."))
        self.assertRegex(log, r'File ".*/engine/sizing\.py", line \d+, in init_memory_pool')
        self.assertNotIn("ready to roll", log)
        self.assertNotIn("KV Cache is allocated", log)

    def test_eight_ranks_log_the_numbers_in_the_known_shape_and_serve(self):
        with Engine("--mem-fraction-static", "0.88") as engine:
            engine.wait_ready()
            log = engine.log
            self.assertRegex(log, prefixed(None) + r"server_args=ServerArgs\(.*mem_fraction_static=0\.88")
            for rank in range(8):
                for line in (
                        r"Init torch distributed begin\.",
                        re.escape(REFUSED),
                        r"Init torch distributed ends\. mem usage=2\.00 GB",
                        r"Load weight begin\. avail mem=94\.00 GB",
                        r"Load weight end\. type=\w+, dtype=torch\.bfloat16, avail mem=21\.70 GB, "
                        r"mem usage=72\.30 GB\.",
                        r"KV Cache is allocated\. #tokens: 159170, KV size: 10\.42 GB",
                        r"Memory pool end\. avail mem=9\.28 GB"):
                    self.assertRegex(log, prefixed(rank) + line)
            self.assertEqual(re.findall(r"TP(\d)\] max_total_num_tokens=(\d+), ", log), [("0", "159170")])
            for line in log.splitlines():
                self.assertRegex(line, r"^\[[^]]+\] ", "two lines are mixed")
            self.assertEqual(len(engine.ranks()), 8)
            self.check_answers(engine)

    def check_answers(self, engine):
        tokens = engine.complete("Hello", 4)
        self.assertEqual(len(tokens), 4)
        self.assertEqual(engine.complete(list(b"Hello"), 4), tokens)
        self.assertNotEqual(engine.complete("World", 4), tokens)
        models = json.loads(engine.ask("/v1/models")[1])
        self.assertEqual(models["data"][0]["id"], "practice-moe-61l")
        info = json.loads(engine.ask("/get_server_info")[1])
        self.assertEqual((info["max_total_num_tokens"], info["tp_size"]), (159170, 8))
        metrics = engine.ask("/metrics")[1]
        label = '{model_name="practice-moe-61l"}'
        for line in (f"sglang:num_requests_total{label} 3", f"sglang:generation_tokens_total{label} 12",
                     f"sglang:prompt_tokens_total{label} 15", f"sglang:token_usage{label} 0.0"):
            self.assertIn(line + "\n", metrics)
        for body, status in (
                ({"prompt": ""}, 400), ({"max_tokens": 3}, 400), ({"prompt": [656]}, 400), ([], 400),
                ({"prompt": "a", "max_tokens": 0}, 400), ({"prompt": "a", "max_tokens": 1 << 20}, 400)):
            self.assertEqual(engine.ask("/v1/completions", body)[0], status, body)
        self.assertEqual(engine.ask("/nothing")[0], 404)

    def test_a_forced_one_shot_costs_24_mib_and_gives_the_same_tokens(self):
        answers, sizes = {}, {}
        for name, options, environment in (
                ("ring", ["--disable-custom-all-reduce"], {}),
                ("one-shot", [], {"FORCE_CUSTOM_AR": "1"})):
            with Engine(*options, **environment) as engine:
                engine.wait_ready()
                answers[name] = engine.complete("The same tokens", 3)
                sizes[name] = json.loads(engine.ask("/get_server_info")[1])["max_total_num_tokens"]
                self.assertNotIn("Custom allreduce is disabled", engine.log)
        self.assertEqual(answers["ring"], answers["one-shot"])
        cost = (24 << 20) * 0.88 / 70272  # the fraction holds for the total that is left
        self.assertAlmostEqual(sizes["ring"] - sizes["one-shot"], cost, delta=1)

    def test_two_ranks_may_use_the_one_shot_and_all_rank_counts_agree(self):
        answers = set()
        for ranks in ("1", "2", "4", "8"):
            with Engine("--tp-size", ranks, *SMALL) as engine:
                engine.wait_ready()
                answers.add(tuple(engine.complete("Whatever the number of ranks", 12)))
                self.assertEqual(REFUSED in engine.log, ranks in ("4", "8"))
        self.assertEqual(len(answers), 1)

    def test_a_model_that_is_too_large_for_two_boards_runs_out_of_memory(self):
        with Engine("--tp-size", "2") as engine:
            self.assertEqual(engine.wait_end(), 1)
            self.assertRegex(engine.log, r"OutOfMemoryError: CUDA out of memory\. Tried to allocate "
                                         r"4\.74 GiB\. GPU [01] has a total capacity of 96\.00 GiB")

    def test_a_pool_that_leaves_no_room_for_the_rest_runs_out_of_memory(self):
        with Engine("--mem-fraction-static", "0.99") as engine:
            self.assertEqual(engine.wait_end(), 1)
            self.assertRegex(engine.log, r"OutOfMemoryError: CUDA out of memory\. Tried to allocate 20\.")

    def test_the_user_may_only_lower_the_number_of_tokens(self):
        with Engine(*SMALL, "--tp-size", "2", "--max-total-tokens", "100") as engine:
            engine.wait_ready()
            self.assertIn("max_total_num_tokens=100, ", engine.log)
            self.assertEqual(engine.ask("/v1/completions", {"prompt": "a", "max_tokens": 100})[0], 400)
            for _ in range(3):  # slots come back
                self.assertEqual(len(engine.complete("abcdef", 94)), 94)
        with Engine("--mem-fraction-static", "0.55", "--max-total-tokens", "100") as engine:
            self.assertEqual(engine.wait_end(), 1)
            self.assertRegex(engine.log, r"max_total_tokens=100 is larger than the profiled value -3148\d\d\.")

    def test_a_wrong_command_line_ends_with_2(self):
        for options in (["--tp-size", "3"], ["--mem-fraction-static", "1.5"], ["--nonsense"],
                        ["--json-model-override-args", '{"colour": 1}']):
            with Engine(*options) as engine:
                self.assertEqual(engine.wait_end(), 2)
                self.assertIn("error:", engine.log)


class EndTest(unittest.TestCase):
    def setUp(self):
        self.shared_memory = shared_memory()

    def assert_nothing_left(self, engine):
        left = shared_memory() - self.shared_memory
        # A program that starts beside this test has names there for a moment; what was left stays.
        wait_for(lambda: not left.intersection_update(shared_memory()) and not left, "the end of names in shared memory")
        self.assertNotIn("resource_tracker", engine.log)
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", engine.port))

    def test_sigterm_and_ctrl_c_end_with_0_and_leave_nothing(self):
        for signum in (signal.SIGTERM, signal.SIGINT):
            with Engine("--tp-size", "2", *SMALL) as engine:
                engine.wait_ready()
                os.killpg(engine.process.pid, signum)
                self.assertEqual(engine.wait_end(), 0, engine.log)
                self.assertNotIn("Traceback", engine.log)
                self.assert_nothing_left(engine)

    def test_sigterm_while_it_starts_and_while_it_answers(self):
        with Engine() as engine:
            wait_for(lambda: "Load weight begin" in engine.log, "weights")
            engine.process.terminate()
            self.assertEqual(engine.wait_end(), 0, engine.log)
            self.assert_nothing_left(engine)
        with Engine("--tp-size", "2", *SMALL, FORCE_CUSTOM_AR="1") as engine:
            engine.wait_ready()
            self.start_long_request(engine)
            engine.process.terminate()
            self.assertEqual(engine.wait_end(), 0, engine.log)
            self.assertNotIn("Traceback", engine.log)
            self.assert_nothing_left(engine)

    def test_when_the_parent_is_killed_the_ranks_leave(self):
        with Engine("--tp-size", "4", *SMALL) as engine:
            engine.wait_ready()
            engine.process.kill()
            self.assertEqual(engine.wait_end(), -signal.SIGKILL)
            self.assert_nothing_left(engine)

    def test_a_killed_rank_takes_the_server_down(self):
        for busy, environment in ((False, {}), (True, {}), (True, {"FORCE_CUSTOM_AR": "1"})):
            with Engine("--tp-size", "4", *SMALL, **environment) as engine:
                engine.wait_ready()
                if busy:
                    self.start_long_request(engine)
                os.kill(engine.ranks()["TP2"], signal.SIGKILL)
                self.assertEqual(engine.wait_end(), 1)
                self.assertRegex(engine.log, r"Rank TP2 \(pid=\d+\) died with exit code -9\.")
                self.assert_nothing_left(engine)

    def start_long_request(self, engine):
        """Sends a request that takes minutes, and waits until the ranks are at it."""
        sock = socket.create_connection(("127.0.0.1", engine.port), timeout=LIMIT)
        self.addCleanup(sock.close)
        body = json.dumps({"prompt": "a", "max_tokens": 100000}).encode()
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        wait_for(lambda: "num_used_tokens{model_name=\"practice-moe-61l\"} 100001"
                 in engine.ask("/metrics")[1], "the request to run")

    def test_a_held_port_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as holder:
            with Engine(port=holder.getsockname()[1]) as engine:
                self.assertEqual(engine.wait_end(), 1)
                self.assertRegex(engine.log, r"OSError: \[Errno \d+\] Address already in use")
                self.assertNotIn("server_args=", engine.log)

    def test_the_port_is_free_again_at_once(self):
        with Engine("--tp-size", "1", *SMALL) as engine:
            engine.wait_ready().complete("a", 1)
            engine.process.terminate()
            engine.wait_end()
        with Engine("--tp-size", "1", *SMALL, port=engine.port) as again:
            again.wait_ready()


class BenchTest(unittest.TestCase):
    def bench(self, port, *options):
        return subprocess.run(
            [sys.executable, "bench.py", "--port", str(port), *options], cwd=ROOT, timeout=LIMIT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def test_it_prints_one_line_without_the_warm_up(self):
        with Engine("--tp-size", "2", *SMALL) as engine:
            engine.wait_ready()
            start = time.monotonic()
            result = self.bench(engine.port, "--requests", "3", "--max-tokens", "5")
            seconds = time.monotonic() - start
        found = re.fullmatch(r"time_per_token_ms=(\d+\.\d{3}) tokens=15 requests=3 errors=0\n", result.stdout)
        self.assertTrue(found, result)
        self.assertEqual(result.returncode, 0)
        self.assertLess(float(found[1]) * 15 / 1000, seconds)

    def test_errors_are_counted_and_end_with_1(self):
        with socket.socket() as bound:  # bound, and not listening: nobody answers, nobody else comes
            bound.bind(("127.0.0.1", 0))
            result = self.bench(bound.getsockname()[1], "--requests", "2")
        self.assertEqual(result.stdout, "time_per_token_ms=nan tokens=0 requests=0 errors=3\n")
        self.assertEqual(result.returncode, 1)
        with Engine("--tp-size", "1", *SMALL, "--max-total-tokens", "10") as engine:
            engine.wait_ready()
            result = self.bench(engine.port, "--requests", "2", "--max-tokens", "20")
        self.assertEqual(result.stdout, "time_per_token_ms=nan tokens=0 requests=0 errors=2\n")
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
