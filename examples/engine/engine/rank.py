"""A rank process: it starts its part of the model, then serves one request after another.

All ranks get every request and do the same steps; rank 0 answers. A rank that fails logs its
traceback before anybody else can notice, then tells the parent with SIGQUIT.
"""

import os
import signal
import sys

from engine.channel import PeerGone, recv_object, send_object
from engine.device import get_available_gpu_memory
from engine.log import log, set_label
from engine.model_runner import ModelRunner
from engine.pools import KVCacheFull


class Scheduler:
    """Takes requests from the parent and gives KV slots to them."""

    def __init__(self, server_args, model_config, rank, links):
        self.args = server_args
        self.rank = rank
        self.parent = links.parent
        self.runner = ModelRunner(server_args, model_config, rank, links)

    def announce(self):
        """Tells the parent that this rank is ready, and what it has."""
        runner = self.runner
        if self.rank == 0:
            free = get_available_gpu_memory(runner.device)
            log(f"max_total_num_tokens={runner.max_total_num_tokens}, "
                f"chunked_prefill_size={self.args.chunked_prefill_size}, "
                f"max_prefill_tokens={self.args.max_prefill_tokens}, "
                f"max_running_requests={runner.max_running_requests}, "
                f"context_len={self.args.context_length}, available_gpu_mem={free:.2f} GB")
        send_object(self.parent, {"max_total_num_tokens": runner.max_total_num_tokens,
                                  "max_running_requests": runner.max_running_requests})

    def serve(self):
        """Serves until the parent closes its socket."""
        while True:
            try:
                prompt, max_tokens = recv_object(self.parent)
            except PeerGone:
                return
            try:
                self.answer({"tokens": self.generate(prompt, max_tokens)})
            except KVCacheFull as error:
                self.answer({"error": str(error)})

    def answer(self, values):
        """Rank 0 sends the parent a message, with the slots in use; other ranks say nothing."""
        if self.rank == 0:
            values["used"] = self.runner.token_to_kv_pool.used
            send_object(self.parent, values)

    def generate(self, prompt, max_tokens):
        """Returns `max_tokens` greedy tokens that follow `prompt`."""
        kv_pool, table = self.runner.token_to_kv_pool, self.runner.req_to_token_pool
        length = len(prompt) + max_tokens
        runs = kv_pool.take(length)
        row = table.take_row([start for start, _ in runs])
        try:
            self.answer({})
            slots = table.slots(row, length)
            chunk = self.args.chunked_prefill_size
            for start in range(0, len(prompt), chunk):
                tokens = prompt[start:start + chunk]
                token = self.runner.forward(tokens, slots[:start + len(tokens)])
            generated = [token]
            while len(generated) < max_tokens:
                token = self.runner.forward([token], slots[:len(prompt) + len(generated)])
                generated.append(token)
            return generated
        finally:
            table.give_row(row)
            kv_pool.give(runs)


def name_process(name):
    """Sets the name that `ps` and `top` show."""
    try:
        with open("/proc/self/comm", "w") as comm:
            comm.write(name)
    except OSError:
        pass  # only a comfort, and not every sandbox allows it


def wait_for_parent(sock):
    """Waits until the parent has closed its end or is gone itself."""
    try:
        while sock.recv(1 << 16):
            pass
    except ConnectionError:
        pass


def run_rank(server_args, model_config, rank, links, parent_pid):
    """The main function of a rank process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    set_label(f"TP{rank}")
    name_process(f"engine TP{rank}")
    try:
        scheduler = Scheduler(server_args, model_config, rank, links)
        scheduler.announce()
        scheduler.serve()
    except ConnectionError as error:
        wait_for_parent(links.parent)  # it says first which rank has gone; then this one may end
        log(f"Leaving, because another process has gone: {error}")
        sys.exit(1)
    except Exception:
        import traceback  # only here: ranks must start fast

        log(f"Scheduler hit an exception: {traceback.format_exc()}")
        if os.getppid() == parent_pid:
            os.kill(parent_pid, signal.SIGQUIT)
        sys.exit(1)
