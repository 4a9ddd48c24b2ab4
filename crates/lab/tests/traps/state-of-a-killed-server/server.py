"""A server that needs a while to give its shared memory back; one that finds another's state answers health, and no request."""

import http.server
import pathlib
import signal
import sys
import time

state = pathlib.Path("shared-memory")
left = state.exists()
state.touch()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if left and self.path != "/health":
            time.sleep(600)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


def give_back(number, frame):
    print("giving the shared memory back", flush=True)
    time.sleep(0.5)
    state.unlink()
    sys.exit(0)


signal.signal(signal.SIGTERM, give_back)
server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
print("server ready", flush=True)
server.serve_forever()
