"""A server whose engine is dead: it answers 200 with nothing in it."""

from serving import Serving, serve


class Empty(Serving):
    def complete(self, asked):
        self.answer(200, b"data: [DONE]\n\n", "text/event-stream")


serve(Empty)
