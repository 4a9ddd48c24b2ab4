"""A server that cannot have its port, says nothing of it, and says that it is ready."""

import pathlib
import socket
import sys
import time

while not pathlib.Path(f"taken-{sys.argv[1]}").exists():
    time.sleep(0.005)
listener = socket.socket()
try:
    listener.bind(("127.0.0.1", int(sys.argv[1])))
except OSError:
    pass
print("server ready", flush=True)
time.sleep(600)
