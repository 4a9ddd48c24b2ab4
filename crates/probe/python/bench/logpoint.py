"""A client that sets one logpoint in a process that waits for it: `logpoint.py PORT FILE LINE`, until the process is gone."""

import json
import socket
import sys


class Client:
    """Speaks the debug adapter protocol, as little of it as a logpoint takes."""

    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.stream = self.connection.makefile("rb")
        self.sequence = 0

    def ask(self, command, **arguments):
        """Sends a request."""
        self.sequence += 1
        body = json.dumps({"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}).encode()
        self.connection.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def message(self):
        """The next message; None at the end."""
        length = None
        for line in iter(self.stream.readline, b"\r\n"):
            if not line:
                return None
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.stream.read(length))

    def until(self, wanted):
        """Reads messages until one fits."""
        for message in iter(self.message, None):
            if wanted(message):
                return


def main(port, path, line):
    client = Client(port)
    client.ask("initialize", adapterID="peer", linesStartAt1=True, columnsStartAt1=True, pathFormat="path")
    client.until(lambda message: message.get("command") == "initialize")
    client.ask("attach", justMyCode=False)
    client.until(lambda message: message.get("event") == "initialized")
    point = {"line": line, "logMessage": "a={a} b={b} c={c} d={d} e={e}"}
    client.ask("setBreakpoints", source={"path": path}, breakpoints=[point])
    client.until(lambda message: message.get("command") == "setBreakpoints")
    client.ask("configurationDone")
    client.until(lambda message: message.get("command") == "configurationDone")
    open("logpoint.ready", "w").close()
    client.until(lambda message: False)


main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
