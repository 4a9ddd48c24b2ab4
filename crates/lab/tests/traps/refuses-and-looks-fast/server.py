"""A server that refuses every request, faster than any server serves one."""

from serving import Serving, serve


class Refusing(Serving):
    def complete(self, asked):
        self.answer(503, {"error": {"message": "overloaded"}})


serve(Refusing)
