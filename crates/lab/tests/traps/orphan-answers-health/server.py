"""A server whose engine dies when all looks well; its front, a daemon that has left the session, goes on answering health."""

import os
import sys
import time
import urllib.request

address = f"http://127.0.0.1:{sys.argv[1]}/health"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "front.py", sys.argv[1]], {})
    os._exit(0)
while True:
    try:
        urllib.request.urlopen(address, timeout=5).read()
        break
    except OSError:
        time.sleep(0.01)
print("server ready", flush=True)
sys.exit("engine core died")
