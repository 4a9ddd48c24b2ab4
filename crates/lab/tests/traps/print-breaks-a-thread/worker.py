"""A program that gives its work to a thread and to a child, and ends well whatever becomes of them."""

import multiprocessing
import threading


def scale(number):
    scaled = number * 2
    return scaled


if __name__ == "__main__":
    thread = threading.Thread(target=scale, args=(3,))
    thread.start()
    thread.join()
    child = multiprocessing.get_context("fork").Process(target=scale, args=(4,))
    child.start()
    child.join()
    print("tokens=12")
