"""A server of an earlier day: it answers health with 200, on the port that the program would like."""

import http.server
import pathlib
import sys


class Stale(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Stale)
pathlib.Path("up").touch()
server.serve_forever()
