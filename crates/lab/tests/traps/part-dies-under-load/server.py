"""A front end that answers from a cache, whatever has become of the engine behind it, which dies in the middle of the work."""

import http.server
import os
import subprocess
import sys

ENGINE = """
import sys
sys.stdin.readline()
raise MemoryError("the engine has no page left")
"""

engine = subprocess.Popen([sys.executable, "-c", ENGINE], stdin=subprocess.PIPE, text=True)
served = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global served
        served += self.path == "/work"
        if served == 3 and engine.poll() is None:
            engine.stdin.write("go\n")
            engine.stdin.flush()
            engine.wait()
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *words):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
