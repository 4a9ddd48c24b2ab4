"""A server that finds its port taken, and waits in the hope that somebody gives it back."""

import socket
import sys
import time

listener = socket.socket()
try:
    listener.bind(("127.0.0.1", int(sys.argv[1])))
except OSError as error:
    print(f"not yet: {error}", flush=True)
print("server ready", flush=True)
time.sleep(600)
