"""A server that is healthy at once, and generates nothing before its warm-up is done."""

import time

from serving import Serving, serve

WARM = time.monotonic() + 2


class Cold(Serving):
    def complete(self, asked):
        while time.monotonic() < WARM:
            time.sleep(0.01)
        super().complete(asked)


serve(Cold)
