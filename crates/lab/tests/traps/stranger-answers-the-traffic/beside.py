"""A neighbour that takes the port that a launch was given, before the launch does, and serves there whoever asks."""

import glob
import pathlib
import threading
import time

from serving import Server, Serving


def given():
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = pathlib.Path(path).read_bytes().split(b"\0")
            if b"server.py" in words and pathlib.Path(path).with_name("cwd").resolve() == pathlib.Path.cwd():
                return int(words[words.index(b"server.py") + 1])
        except (OSError, ValueError, IndexError):
            # It ended, or has not become the server yet.
            continue
    return None


pathlib.Path("up").touch()
seen = set()
while True:
    port = given()
    if port is None or port in seen:
        time.sleep(0.005)
        continue
    try:
        server = Server(("127.0.0.1", port), Serving)
    except OSError:
        continue
    seen.add(port)
    pathlib.Path(f"taken-{port}").touch()
    threading.Thread(target=server.serve_forever, daemon=True).start()
