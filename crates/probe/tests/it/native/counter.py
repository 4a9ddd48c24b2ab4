"""Two threads that count without a lock; prints how many updates were lost."""

import threading

TURNS = 1000000


class Box:
    count = 0


def work(box, turns):
    for _ in range(turns):
        seen = box.count
        box.count = seen + 1


if __name__ == "__main__":
    box = Box()
    threads = [threading.Thread(target=work, args=(box, TURNS)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(2 * TURNS - box.count)
