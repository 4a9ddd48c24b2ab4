"""An OpenAI-compatible server that behaves as the file `mode` in its directory says at each request, and writes down in `asked` what it was asked."""

import http.server
import json
import os
import socket
import sys
import time


def mode():
    """The word in the file, `ok` where there is none."""
    try:
        with open("mode") as file:
            return file.read().strip()
    except OSError:
        return "ok"


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self):
        """Health and the list of models."""
        self.note()
        if mode() == "lies":
            self.answer(200, "ok")
        elif self.path == "/v1/models":
            names = ["tiny", "other"] if mode() == "two" else ["tiny"]
            self.answer(200, {"object": "list", "data": [{"id": name} for name in names]})
        elif mode() == "ill":
            self.answer(503, "loading weights")
        else:
            self.answer(200, "state: serving")

    def do_POST(self):
        """Completions."""
        self.note()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        chat = self.path == "/v1/chat/completions"
        if mode() == "chat" and not chat:
            self.answer(404, {"detail": "Not Found"})
        elif mode() == "broken":
            self.answer(500, {"error": {"message": "CUDA error: an illegal memory access"}})
        elif mode() == "lies":
            self.answer(200, "ok")
        elif mode() == "hangs":
            time.sleep(600)
        else:
            text = "" if mode() in ("empty", "dummy") else " Paris"
            tokens = 0 if mode() == "empty" else asked["max_tokens"]
            choice = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
            self.answer(200, {"model": asked["model"], "choices": [choice], "usage": {"completion_tokens": tokens}})

    def note(self):
        """Writes down what is asked."""
        with open("asked", "a") as file:
            file.write(self.path + "\n")

    def answer(self, status, body):
        """Sends text, or JSON."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        """Says nothing."""


class Server(http.server.ThreadingHTTPServer):
    """One thread a request; shares its port where `SHARED` is set."""

    daemon_threads = True

    def server_bind(self):
        """Binds, without looking up the name of the machine."""
        if os.environ.get("SHARED"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = self.server_address


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
