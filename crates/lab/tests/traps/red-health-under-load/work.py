"""Two requests at a time, and a look at health in the middle of them."""

import json
import sys
import threading
import urllib.error
import urllib.request

url = f"http://127.0.0.1:{sys.argv[1]}"
body = json.dumps({"model": "tiny", "prompt": "x", "max_tokens": 1}).encode()
served = []


def ask():
    request = urllib.request.Request(url + "/v1/completions", body, {"Content-Type": "application/json"})
    served.append(json.loads(urllib.request.urlopen(request, timeout=60).read())["choices"][0]["text"])


def health():
    try:
        return urllib.request.urlopen(url + "/health", timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code


askers = [threading.Thread(target=ask) for _ in range(2)]
for asker in askers:
    asker.start()
seen = 200
while seen == 200 and any(asker.is_alive() for asker in askers):
    seen = health()
for asker in askers:
    asker.join()
print(f"health under load {seen}, served {len(served)}")
