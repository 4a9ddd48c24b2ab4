"""A benchmark to which every request succeeds."""

import sys
import time
import urllib.request

for _ in range(20):
    urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/work", timeout=5).read()
    time.sleep(0.05)
print("Request throughput (req/s): 940.0")
