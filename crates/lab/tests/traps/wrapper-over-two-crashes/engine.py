"""A launcher over a worker that dies without a Python exception; of what, a line decides that an instrument adds."""

import multiprocessing
import os
import sys


def work():
    why = "memory"
    if why == "memory":
        print("terminate called after throwing an instance of 'c10::OutOfMemoryError'", file=sys.stderr)
        print("  what():  CUDA out of memory. Tried to allocate 2.00 GiB", file=sys.stderr, flush=True)
        os.abort()
    if why == "killed":
        os.kill(os.getpid(), 9)
    print("terminate called after throwing an instance of 'std::out_of_range'", file=sys.stderr)
    print("  what():  the print read past the end", file=sys.stderr, flush=True)
    os.abort()


if __name__ == "__main__":
    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    worker.join()
    raise RuntimeError(f"Engine core initialization failed. See root cause above. Failed core proc(s): {{'EngineCore': {worker.exitcode}}}")
