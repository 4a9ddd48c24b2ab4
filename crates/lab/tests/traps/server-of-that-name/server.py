"""A server that ends only when it is killed."""

import signal
import socket
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
print("server ready", flush=True)
while True:
    signal.pause()
