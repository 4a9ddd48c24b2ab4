"""An engine whose work is done by a child, which has no terminal and no input."""

import multiprocessing


def profile(total):
    rest = total - 1
    return rest


if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=profile, args=(94,))
    child.start()
    child.join()
    raise SystemExit(child.exitcode)
