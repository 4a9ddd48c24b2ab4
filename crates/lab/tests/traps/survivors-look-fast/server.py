"""A server of which every fifth request is slow; with a flag it refuses those, and serves the others no faster."""

import itertools
import sys
import time

from serving import Serving, serve

number = itertools.count(1)


class Slow(Serving):
    def complete(self, asked):
        if next(number) % 5:
            super().complete(asked)
        elif "--on" in sys.argv:
            self.answer(503, {"error": {"message": "overloaded"}})
        else:
            time.sleep(0.2)
            super().complete(asked)


serve(Slow)
