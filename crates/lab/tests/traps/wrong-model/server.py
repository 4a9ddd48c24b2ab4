"""A server that serves another model than the experiment is about."""

from serving import Serving, serve


class Other(Serving):
    model = "other"

    def complete(self, asked):
        self.answer(404, {"error": {"message": "no such model"}})


serve(Other)
