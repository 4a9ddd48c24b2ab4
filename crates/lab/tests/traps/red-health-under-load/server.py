"""A server whose health address gives up while it works, because the one thread that could answer is busy; every request is served."""

import threading

from serving import Serving, serve

at_work, gave_up = [], threading.Event()


class Busy(Serving):
    def health(self):
        if at_work:
            self.answer(503, {"error": "could not get a response from the detokenizer"})
            gave_up.set()
        else:
            self.answer(200, {})

    def complete(self, asked):
        at_work.append(asked)
        gave_up.wait(60)
        super().complete(asked)


serve(Busy)
