"""A server that answers health at once and serves nobody for two seconds from its first request; after that it is as fast as any."""

import time

from serving import Serving, serve


class Silent(Serving):
    warm = None

    def complete(self, asked):
        if Silent.warm is None:
            Silent.warm = time.monotonic() + 2
        while time.monotonic() < Silent.warm:
            time.sleep(0.01)
        super().complete(asked)


serve(Silent)
