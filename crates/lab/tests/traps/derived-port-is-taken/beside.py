"""Another engine of this machine, on the port that the program derives."""

import pathlib
import socket
import sys
import time

listener = socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
pathlib.Path("up").touch()
while True:
    time.sleep(600)
