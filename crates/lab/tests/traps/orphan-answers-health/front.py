"""Answers health, whatever became of the engine."""

import http.server
import sys


class Front(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = True


Server(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()
