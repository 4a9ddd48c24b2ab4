"""A server that does its work and then ignores every polite wish that it should end."""

import signal
import socket
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
time.sleep(600)
