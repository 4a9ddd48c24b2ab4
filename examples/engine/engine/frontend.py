"""HTTP: health, models, completions, server info, metrics. Only the parent imports this."""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from engine.channel import recv_object, send_object
from engine.log import log
from engine.model import VOCABULARY

SYLLABLES = [a + b + c for a in "bdfghjklmnprstvwyzcq" for b in "aeiou" for c in ("", "n", "r", "s")]
METRICS = (
    ("num_running_reqs", "gauge", "Requests that run now."),
    ("num_queue_reqs", "gauge", "Requests that wait."),
    ("num_used_tokens", "gauge", "KV slots that requests hold now."),
    ("max_total_num_tokens", "gauge", "KV slots that there are."),
    ("token_usage", "gauge", "Share of the KV slots that is held."),
    ("num_requests_total", "counter", "Requests that were answered."),
    ("prompt_tokens_total", "counter", "Tokens of their prompts."),
    ("generation_tokens_total", "counter", "Tokens that were generated for them."),
)


class RequestError(Exception):
    """A request that cannot be served: an HTTP status and why."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def text_of(token):
    """What a token stands for."""
    if token >= 256:
        return SYLLABLES[token - 256]
    return chr(token) if 32 <= token < 127 else " "


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        """Logs in one line that a connection broke: mostly a client that did not wait."""
        log(f"INFO:     connection of {client_address} broke: {sys.exc_info()[1]!r}")


class Frontend:
    """What the HTTP threads share: the ranks' sockets, used by one request at a time, and counts."""

    def __init__(self, server_args, sockets):
        self.args = server_args
        self.sockets = sockets
        self.info = None  # what rank 0 reported; None until all ranks are ready
        self._turn = threading.Lock()
        self._count_lock = threading.Lock()
        self.counts = dict.fromkeys((name for name, _, _ in METRICS), 0)

    def start(self, listener):
        """Answers on `listener` from now on, in threads."""
        handler = type("BoundHandler", (Handler,), {"frontend": self})
        server = Server(listener.getsockname()[:2], handler, bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def open(self, info):
        """Lets requests in."""
        self.counts["max_total_num_tokens"] = info["max_total_num_tokens"]
        self.info = info

    def count(self, **changes):
        """Adds to the metrics."""
        with self._count_lock:
            for name, change in changes.items():
                self.counts[name] += change

    def generate(self, prompt, max_tokens):
        """Has the ranks generate tokens; waits for its turn. Raises RequestError."""
        self.count(num_queue_reqs=1)
        with self._turn:
            self.count(num_queue_reqs=-1, num_running_reqs=1)
            try:
                for sock in self.sockets:
                    send_object(sock, (prompt, max_tokens))
                reply = recv_object(self.sockets[0])
                self.counts["num_used_tokens"] = reply["used"]
                if "error" not in reply:  # admitted: the next one is the result
                    reply = recv_object(self.sockets[0])
                    self.counts["num_used_tokens"] = reply["used"]
            except OSError as error:
                raise RequestError(503, f"the ranks are gone: {error}") from error
            finally:
                self.count(num_running_reqs=-1)
        if "error" in reply:
            raise RequestError(503, reply["error"])
        self.count(num_requests_total=1, prompt_tokens_total=len(prompt),
                   generation_tokens_total=len(reply["tokens"]))
        return reply["tokens"]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    frontend = None
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one piece
    disable_nagle_algorithm = True

    def do_GET(self):
        """Answers the questions about the server."""
        path = self.path.partition("?")[0]
        frontend = self.frontend
        if path == "/metrics":
            self.reply(200, self.metrics(), "text/plain; version=0.0.4; charset=utf-8")
        elif path not in ("/health", "/v1/models", "/get_server_info"):
            self.reply_error(404, f"no such path: {path}")
        elif frontend.info is None:
            self.reply_error(503, "the ranks are not ready")
        elif path == "/health":
            self.reply(200, "")
        elif path == "/v1/models":
            model = {"id": frontend.args.model_path, "object": "model", "owned_by": "engine",
                     "max_model_len": frontend.args.context_length}
            self.reply(200, json.dumps({"object": "list", "data": [model]}))
        else:
            self.reply(200, json.dumps({**vars(frontend.args), **frontend.info}))

    def do_POST(self):
        """Answers completions."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.path != "/v1/completions":
                raise RequestError(404, f"no such path: {self.path}")
            if self.frontend.info is None:
                raise RequestError(503, "the ranks are not ready")
            self.reply(200, json.dumps(self.complete(body)))
        except RequestError as error:
            self.reply_error(error.status, str(error))

    def complete(self, body):
        """Reads one completion request and returns its answer. Sampling options are ignored."""
        try:
            request = json.loads(body)
            prompt, max_tokens = request["prompt"], request.get("max_tokens", 16)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RequestError(400, f"not a completion request: {error!r}") from error
        if isinstance(prompt, str):
            prompt = list(prompt.encode())
        if not isinstance(prompt, list) or not prompt or not all(
                type(t) is int and 0 <= t < VOCABULARY for t in prompt):
            raise RequestError(400, "prompt must be a text or a list of tokens, and not empty")
        if type(max_tokens) is not int or max_tokens < 1:
            raise RequestError(400, "max_tokens must be a whole number, at least 1")
        limit = min(self.frontend.args.context_length, self.frontend.info["max_total_num_tokens"])
        if len(prompt) + max_tokens > limit:
            raise RequestError(400, f"{len(prompt)} + {max_tokens} tokens are more than {limit}")
        if request.get("stream"):
            raise RequestError(400, "stream is not supported")

        tokens = self.frontend.generate(prompt, max_tokens)
        return {
            "id": f"cmpl-{time.monotonic_ns():x}", "object": "text_completion",
            "created": int(time.time()), "model": self.frontend.args.model_path,
            "choices": [{"index": 0, "text": "".join(map(text_of, tokens)), "token_ids": tokens,
                         "logprobs": None, "finish_reason": "length"}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(tokens),
                      "total_tokens": len(prompt) + len(tokens)},
        }

    def metrics(self):
        """The counts in Prometheus' text format."""
        counts = dict(self.frontend.counts)
        if counts["max_total_num_tokens"]:
            counts["token_usage"] = counts["num_used_tokens"] / counts["max_total_num_tokens"]
        label = json.dumps(self.frontend.args.model_path)
        lines = []
        for name, kind, text in METRICS:
            lines += [f"# HELP sglang:{name} {text}", f"# TYPE sglang:{name} {kind}",
                      f"sglang:{name}{{model_name={label}}} {counts[name]}"]
        return "\n".join(lines) + "\n"

    def reply(self, status, text, content_type="application/json"):
        """Sends one answer."""
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def reply_error(self, status, message):
        """Sends an error as OpenAI's API does."""
        error = {"message": message, "type": "invalid_request_error", "code": status}
        self.reply(status, json.dumps({"object": "error", "error": error}))

    def log_request(self, code="-", size="-"):
        """Logs requests for tokens; those that only look at the server would drown them."""
        if self.command == "POST":
            client = "%s:%s" % self.client_address[:2]
            log(f'INFO:     {client} - "{self.requestline}" {int(code)}')

    def log_message(self, format, *args):
        """Logs the rest."""
        log("INFO:     " + format % args)
