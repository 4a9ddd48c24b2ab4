"""Forks in every way that a program has; in some the child can leave no account of itself."""

import multiprocessing
import os
import resource
import subprocess
import sys
import threading

if __name__ == "__main__" and sys.argv[1] == "told" and os.fork() == 0:
    os._exit(0)  # A child of a process that has no ring yet.

from work import step


def fork(number):
    pid = os.fork()
    if pid == 0:
        step(number)
        os._exit(0)
    os.waitpid(pid, 0)


def silent(mode):
    step(1)
    if mode == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if mode == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    if mode == "user":
        os.setuid(65534)
    fork(2)
    fork(3)
    step(4)


def daemon():
    """The child of a child that is gone before its own child has begun."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os.close(reader)
            step(5)
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    os.read(reader, 1)


def told():
    fork(0)
    step(1)
    threads = [threading.Thread(target=fork, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for method in ("fork", "forkserver", "spawn"):
        process = multiprocessing.get_context(method).Process(target=step, args=(7,))
        process.start()
        process.join()
    daemon()
    pid, terminal = os.forkpty()
    if pid == 0:
        step(8)
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(terminal)
    for preparation in (None, lambda: None):
        subprocess.run([sys.executable, "-c", "from work import step; step(9)"], preexec_fn=preparation, check=True)


if __name__ == "__main__":
    if sys.argv[1] == "told":
        told()
    else:
        silent(sys.argv[1])
