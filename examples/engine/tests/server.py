"""Starts the engine for a test, asks it over HTTP, and shows what it leaves behind."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 60  # seconds; a test that waits longer has failed
SMALL = ("--json-model-override-args", '{"num_hidden_layers": 8}')


def free_port():
    """A port that nobody listens on, and that the system gives to no connection: the engine itself opens many."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port


def wait_for(condition, what):
    """Waits until `condition()` is true and returns its value."""
    deadline = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {LIMIT} s for {what}")
        time.sleep(0.01)


def members(session):
    """The processes of a session that still run, by pid: their names."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue  # it ended meanwhile
            state, _, _, sid = rest.split()[:4]
            if int(sid) == session and state != "Z":
                found[int(entry.name)] = name
    return found


class Engine:
    """One server, in a session of its own; a context manager that leaves nothing running."""

    def __init__(self, *options, port=None, **environment):
        self.port = port or free_port()
        self.log_file = tempfile.TemporaryFile("w+")
        env = {k: v for k, v in os.environ.items() if k != "FORCE_CUSTOM_AR"}
        env.update(environment)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "engine", "--port", str(self.port), *options],
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=self.log_file,
            stderr=self.log_file, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in members(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended meanwhile
        self.process.wait()
        self.log_file.close()

    @property
    def log(self):
        """All that it wrote until now."""
        return os.pread(self.log_file.fileno(), 1 << 24, 0).decode()

    def ask(self, path, body=None):
        """Sends one request; returns status and text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            if body is None:
                connection.request("GET", path)
            else:
                connection.request("POST", path, json.dumps(body))
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def is_ready(self):
        """Whether `/health` says so; fails when the server has ended."""
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log}")
        try:
            return self.ask("/health")[0] == 200
        except OSError:
            return False

    def wait_ready(self):
        """Waits for readiness and returns the server."""
        wait_for(self.is_ready, "readiness")
        wait_for(lambda: "ready to roll!" in self.log, "the line that says ready")
        return self

    def wait_end(self):
        """Waits for the end of all its processes; returns the exit code."""
        code = self.process.wait(LIMIT)
        wait_for(lambda: not members(self.process.pid), "the end of all processes")
        return code

    def complete(self, prompt, max_tokens):
        """Returns the tokens that follow a prompt."""
        status, text = self.ask("/v1/completions", {"prompt": prompt, "max_tokens": max_tokens})
        if status != 200:
            raise AssertionError(f"HTTP {status}: {text}")
        return json.loads(text)["choices"][0]["token_ids"]

    def ranks(self):
        """The pids of the ranks, by name."""
        return {name[len("engine "):]: pid for pid, name in members(self.process.pid).items()
                if re.fullmatch(r"engine TP\d", name)}
