"""A server that serves, and dies of its third request; its client does not look at what it gets."""

import http.server
import os
import sys

served = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global served
        if self.path == "/work":
            served += 1
        if served == 3:
            print("Fatal: out of pages", flush=True)
            os._exit(7)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
