"""One request, timed as whoever calls the server ready sees it."""

import json
import sys
import time
import urllib.request

url = f"http://127.0.0.1:{sys.argv[1]}/v1/completions"
body = json.dumps({"model": "tiny", "prompt": "x", "max_tokens": 1}).encode()
start = time.monotonic()
urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=60).read()
print("served within a second" if time.monotonic() - start < 1 else "blocked by the warm-up")
