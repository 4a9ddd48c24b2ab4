"""The parent: it makes boards and links, starts the ranks, watches them and takes them down."""

import multiprocessing
import os
import select
import signal
import socket
import time
from multiprocessing import reduction

from engine.channel import PeerGone, recv_object
from engine.device import make_board
from engine.log import log
from engine.rank import run_rank

FULL_INTERCONNECT = False  # boards on PCIe, with no direct link between each two of them
SIGNAL_DELAY = 0.2  # seconds in which a signal to a whole process group reaches all of it
GRACE = {0: 0.5, 1: 2.0}  # seconds for ranks to leave, by exit code: failing ranks log tracebacks


class Fd:
    """A descriptor that a spawned process inherits; there it is a plain number."""

    def __init__(self, fd):
        self.fd = fd

    def __reduce__(self):
        return _inherited, (reduction.DupFd(self.fd),)


def _inherited(dup):
    return dup.detach()


class Links:
    """What connects one rank to the others and to the parent. Nothing of it has a name on disk."""

    def __init__(self, boards, bells, parent, to_next, from_previous):
        self.full_interconnect = FULL_INTERCONNECT
        self.boards = boards
        self.bells = bells
        self.parent = parent
        self.to_next = to_next
        self.from_previous = from_previous


class Ranks:
    """The rank processes and the parent's sockets to them."""

    def __init__(self, server_args, model_config):
        size = server_args.tp_size
        boards = [make_board() for _ in range(size)]
        bells = [os.pipe() for _ in range(size)]
        ring = [socket.socketpair() for _ in range(size)]
        controls = [socket.socketpair() for _ in range(size)]
        self.sockets = [ours for ours, _ in controls]
        self.processes = []
        spawn = multiprocessing.get_context("spawn")
        for rank in range(size):
            links = Links([Fd(fd) for fd in boards], [(Fd(r), Fd(w)) for r, w in bells],
                          controls[rank][1], ring[rank][0], ring[rank - 1][1])
            process = spawn.Process(
                target=run_rank, name=f"TP{rank}", daemon=True,
                args=(server_args, model_config, rank, links, os.getpid()))
            process.start()
            self.processes.append(process)
        # A rank sees that another is gone only if nobody else holds the other end.
        for fd in boards + [fd for bell in bells for fd in bell]:
            os.close(fd)
        for pair in ring:
            pair[0].close()
            pair[1].close()
        for _, theirs in controls:
            theirs.close()

    def stop(self, grace):
        """Closes all sockets, waits `grace` seconds, then kills. No rank is left afterwards."""
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)  # also wakes a thread that waits for an answer
            except OSError:
                pass  # the rank is gone already
        deadline = time.monotonic() + grace
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()


def catch_signals():
    """Turns SIGTERM, SIGINT and SIGQUIT into bytes; returns the socket that they arrive at."""
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        signal.signal(signum, lambda *_: None)
    return reader


def launch(server_args, model_config):
    """Runs the server until it is told to stop or a rank is gone; returns the exit code."""
    listener = socket.create_server((server_args.host, server_args.port))
    signals = catch_signals()
    log(f"server_args={server_args!r}")
    ranks = Ranks(server_args, model_config)
    from engine.frontend import Frontend  # now: its imports take as long as a rank's start

    frontend = Frontend(server_args, ranks.sockets)
    frontend.start(listener)
    code = watch(signals, ranks, frontend)
    ranks.stop(GRACE[code])
    return code


def watch(signals, ranks, frontend):
    """Waits for readiness, then for the end; returns the exit code."""
    poll = select.poll()
    poll.register(signals, select.POLLIN)
    sockets = {sock.fileno(): sock for sock in ranks.sockets}
    processes = {process.sentinel: process for process in ranks.processes}
    for fd in list(sockets) + list(processes):
        poll.register(fd, select.POLLIN)
    ready = []
    while True:
        events = [fd for fd, _ in poll.poll()]
        if any(fd in processes for fd in events):
            # What ended a rank may be a signal to all, or its own SIGQUIT to come: that counts first.
            select.select([signals], [], [], SIGNAL_DELAY)
            events = [fd for fd, _ in poll.poll()]
        if signals.fileno() in events:
            return exit_code_for(signals.recv(64))
        for fd in events:
            if fd in processes:
                process = processes[fd]
                process.join()
                log(f"Rank {process.name} (pid={process.pid}) died with exit code "
                    f"{process.exitcode}.")
                return 1
            poll.unregister(fd)
            try:
                ready.append(recv_object(sockets[fd]))
            except PeerGone:
                continue  # its process is about to end
            if len(ready) == len(sockets):
                frontend.open(ready[0])
                log("The server is fired up and ready to roll!")


def exit_code_for(signums):
    """0 if the user wants the server to stop; 1 if a rank said that it failed."""
    if signal.SIGQUIT in signums:
        log("Received sigquit from a child process. It usually means the child failed.")
        return 1
    return 0
