"""A client that waits for as long as it takes, and looks at health meanwhile, which is fine."""

import json
import sys
import threading
import time
import urllib.request

url = f"http://127.0.0.1:{sys.argv[1]}"
body = json.dumps({"model": "tiny", "prompt": "x", "max_tokens": 1}).encode()


def ask():
    urllib.request.urlopen(urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"}), timeout=600).read()


for _ in range(3):
    threading.Thread(target=ask, daemon=True).start()
while True:
    print("health", urllib.request.urlopen(url + "/health", timeout=60).status, flush=True)
    time.sleep(0.2)
