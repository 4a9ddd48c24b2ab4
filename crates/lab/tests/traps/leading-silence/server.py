"""A server that answers health at once and serves nobody for its first two seconds; after that it is as fast as any."""

import time

from serving import Serving, serve

WARM = time.monotonic() + 2


class Silent(Serving):
    def complete(self, asked):
        while time.monotonic() < WARM:
            time.sleep(0.01)
        super().complete(asked)


serve(Silent)
