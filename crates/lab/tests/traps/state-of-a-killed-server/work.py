"""A few requests, with the patience of a client that has no limit."""

import sys
import urllib.request

for _ in range(5):
    urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/work", timeout=600).read()
print("served 5")
