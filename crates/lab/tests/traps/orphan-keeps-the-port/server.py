"""A server that says that it is ready whether it got its port or not."""

import socket
import sys
import time

listener = socket.socket()
try:
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen()
except OSError as error:
    print(f"warning: {error}", flush=True)
print("server ready", flush=True)
time.sleep(600)
