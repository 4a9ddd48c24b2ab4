"""A server whose health is fine and whose engine is not: every completion fails."""

from serving import Serving, serve


class Dead(Serving):
    def complete(self, asked):
        self.answer(500, {"error": {"message": "EngineDeadError"}})


serve(Dead)
