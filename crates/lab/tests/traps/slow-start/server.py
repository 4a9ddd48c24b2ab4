"""A server that needs three seconds, and says nothing for most of them."""

import socket
import sys
import time

print("loading weights", flush=True)
end = time.monotonic() + 3
while time.monotonic() < end:
    sum(range(20_000))
listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
print("server ready", flush=True)
time.sleep(600)
