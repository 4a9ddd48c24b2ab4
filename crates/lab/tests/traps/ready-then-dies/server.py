"""A server that says that it is ready, answers, and dies before readiness has lasted for as long as it must."""

import http.server
import os
import sys
import threading


class Once(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        threading.Timer(1.0, os._exit, [3]).start()

    def log_message(self, *words):
        pass


print("server ready", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Once).serve_forever()
