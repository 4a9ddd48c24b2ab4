"""A server that prints an error that it handles while it starts, gets ready, and serves; slowly, where a line is added for it."""

import http.server
import sys
import time
import traceback


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        wait = 0
        if self.path == "/work":
            time.sleep(wait)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")


try:
    raise RuntimeError("the fast kernel is not available, the slow one is taken")
except RuntimeError:
    traceback.print_exc()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
