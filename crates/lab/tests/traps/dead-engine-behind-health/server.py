"""A server whose engine died behind a front that goes on: health and statistics come as ever, requests wait, and no token follows."""

import threading
import time

from serving import Serving, serve

waiting = []


class Waiting(Serving):
    def complete(self, asked):
        if asked["prompt"] != "x":
            super().complete(asked)
            return
        waiting.append(asked)
        time.sleep(600)


def statistics():
    while True:
        print(
            "INFO 11-29 13:10:57 [loggers.py:248] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
            f"Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: {len(waiting)} reqs, GPU KV cache usage: 0.0%",
            flush=True,
        )
        time.sleep(0.2)


threading.Thread(target=statistics, daemon=True).start()
serve(Waiting)
