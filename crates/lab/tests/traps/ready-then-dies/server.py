"""A server that says that it is ready, answers once, and dies."""

import http.server
import os
import sys
import threading
import time


class Once(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        threading.Timer(0.02, os._exit, [3]).start()

    def log_message(self, *words):
        pass


print("server ready", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Once).serve_forever()
