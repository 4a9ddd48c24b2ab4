"""An orphan of yesterday's server: it holds the port on every address, and says nothing to whoever connects."""

import pathlib
import signal
import socket
import sys

listener = socket.socket(socket.AF_INET6)
listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
listener.bind(("::", int(sys.argv[1])))
listener.listen()
pathlib.Path("up").touch()
signal.pause()
