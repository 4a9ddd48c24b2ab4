"""An OpenAI-compatible server that works. A trap changes the one thing that is wrong with its own; nothing here is part of a trap alone."""

import http.server
import json
import sys


class Serving(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = "tiny"

    def answer(self, status, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/v1/models":
            self.answer(200, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
        else:
            self.health()

    def do_POST(self):
        self.complete(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0)))))

    def health(self):
        self.answer(200, {})

    def complete(self, asked):
        count = asked.get("max_tokens") or 1
        usage = {"prompt_tokens": 1, "completion_tokens": count, "total_tokens": count + 1}
        if not asked.get("stream"):
            self.answer(200, {"choices": [{"index": 0, "text": "a" * count, "finish_reason": "length"}], "usage": usage})
            return
        pieces = [{"choices": [{"index": 0, "text": "a", "finish_reason": None}]} for _ in range(count)]
        pieces += [{"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}, {"choices": [], "usage": usage}]
        events = [f"data: {json.dumps(piece)}\n\n" for piece in pieces] + ["data: [DONE]\n\n"]
        self.answer(200, "".join(events).encode(), "text/event-stream")

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def serve(handler):
    """Serves on the port of the command line until it is ended."""
    server = Server(("127.0.0.1", int(sys.argv[1])), handler)
    print("server ready", flush=True)
    server.serve_forever()
