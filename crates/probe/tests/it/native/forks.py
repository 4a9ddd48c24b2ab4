"""Forks behind the interpreter's back, so that no hook runs in the child; then with it."""

import ctypes
import os


def step(who, number):
    done = number
    return done


if __name__ == "__main__":
    step("parent", 1)
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        step("nobody", 1)
        os._exit(0)
    os.waitpid(pid, 0)
    pid = os.fork()
    if pid == 0:
        step("child", 1)
        os._exit(0)
    os.waitpid(pid, 0)
    step("after", 1)
