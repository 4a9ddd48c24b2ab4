"""A client that takes every answer, and none, for success."""

import sys
import time
import urllib.request

for _ in range(20):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/work", timeout=5)
    except OSError:
        pass
    time.sleep(0.05)
print("Request throughput (req/s): 940.0")
