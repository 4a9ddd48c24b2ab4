"""A server whose prefix cache outlives it: what one launch has read, the next one finds."""

import json
import pathlib
import time

from serving import Serving, serve

cache = pathlib.Path("prefixes")


class Caching(Serving):
    def complete(self, asked):
        known = cache / str(abs(sum(ord(letter) * 31**place % 65521 for place, letter in enumerate(asked["prompt"]))))
        hit = known.exists()
        if not hit:
            known.touch()
            time.sleep(0.02)
        usage = {"prompt_tokens": 16, "completion_tokens": 1, "total_tokens": 17, "prompt_tokens_details": {"cached_tokens": 15 if hit else 0}}
        pieces = [{"choices": [{"index": 0, "text": "a", "finish_reason": "length"}]}, {"choices": [], "usage": usage}]
        events = [f"data: {json.dumps(piece)}\n\n" for piece in pieces] + ["data: [DONE]\n\n"]
        self.answer(200, "".join(events).encode(), "text/event-stream")


cache.mkdir(exist_ok=True)
serve(Caching)
