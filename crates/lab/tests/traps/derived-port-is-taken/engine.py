"""An engine that derives a second port from its first, and ends when somebody has it."""

import socket
import sys

port = int(sys.argv[1])
listener = socket.socket()
try:
    listener.bind(("127.0.0.1", port))
except OSError as error:
    raise ValueError(f"rpc_port at {port} is not available in 30 seconds. rpc_port is used by a process already.") from error
print("done")
