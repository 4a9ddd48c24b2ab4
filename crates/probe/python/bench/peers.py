"""Measures one way of seeing five locals: `peers.py WAY`, one process each. Prints the CPU time of a call of `work`, in ns.

Every way is put where a user would put it: after the line that assigns `e`. `ours` and `bare` change nothing here: for `ours` the
process runs under the overlay. What each way writes goes to files in the working directory.
"""

import json
import os
import subprocess
import sys
import threading
import time
import types

FOLDER = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(FOLDER, "target.py")
NAMES = "a", "b", "c", "d", "e"
BATCHES = {"debugpy": (20, 40), "hunter": (40, 100), "viztracer": (60, 300), "logging": (60, 200), "print": (60, 1000), "os.write": (60, 500)}
CLIENTS = []


def line_after_e():
    """The line that follows the assignment of `e` in the probed function, from 1."""
    with open(TARGET) as file:
        return file.read().split("\n").index("    e = a * 0.5") + 2


def with_statement(statement, names):
    """The target with a statement after that line, as somebody who edits the file would have it."""
    with open(TARGET) as file:
        lines = file.read().split("\n")
    lines.insert(line_after_e() - 1, "    " + statement)
    module = types.ModuleType("target")
    module.__dict__.update(names)
    exec(compile("\n".join(lines), TARGET, "exec"), module.__dict__)
    return module


def plain():
    """The target as it is."""
    import target

    return target


def printing():
    return with_statement("print(a, b, c, d, e, file=out)", {"out": open("print.txt", "w")})


def logging_info():
    import logging

    logger = logging.getLogger("peer")
    logger.propagate = False
    handler = logging.FileHandler("log.txt", "w")
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return with_statement("log.info('a=%r b=%r c=%r d=%r e=%r', a, b, c, d, e)", {"log": logger})


def os_write_json():
    handle = os.open("hits.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    encode, write, clock = json.JSONEncoder(separators=(",", ":")).encode, os.write, time.time_ns

    def hit(*values):
        write(handle, (encode(dict(zip(NAMES, values), t=clock())) + "\n").encode())

    return with_statement("hit(a, b, c, d, e)", {"hit": hit})


def hunter():
    import hunter as hunting

    target = plain()
    action = hunting.VarsPrinter(*NAMES, stream=open("hunter.txt", "w"))
    hunting.trace(function="work", module="target", lineno=line_after_e(), kind="line", action=action)
    return target


def viztracer():
    from viztracer import VizTracer

    tracer = VizTracer(output_file="viz.json", verbose=0, tracer_entries=1000000, log_sparse=True)
    statement = "; ".join("tracer.add_variable(%r, %s, 'instant')" % (name, name) for name in NAMES)
    target = with_statement(statement, {"tracer": tracer})
    tracer.start()
    return target


def debugpy():
    import debugpy as adapter

    adapter.configure(subProcess=False)
    _, port = adapter.listen(("127.0.0.1", 0))
    command = [sys.executable, os.path.join(FOLDER, "logpoint.py"), str(port), TARGET, str(line_after_e())]
    CLIENTS.append(subprocess.Popen(command, stdout=open("debugpy.txt", "w"), stderr=subprocess.STDOUT))
    adapter.wait_for_client()
    while not os.path.exists("logpoint.ready"):
        threading.Event().wait(0.01)
    return plain()


WAYS = {
    "bare": plain, "ours": plain, "print": printing, "logging": logging_info, "os.write": os_write_json, "hunter": hunter,
    "viztracer": viztracer, "debugpy": debugpy,
}  # fmt: skip


def batch(function, calls):
    """CPU nanoseconds a call, of this thread."""
    start = time.thread_time_ns()
    for number in range(calls):
        function(number)
    return (time.thread_time_ns() - start) / calls


def main(way):
    """Prints the median batch and the least, and the least time of a recursion that nothing looks at."""
    target = WAYS[way]()
    if way == "ours":
        from cost import drain
    batches, calls = BATCHES.get(way, (200, 1000))
    batch(target.work, calls)
    times = []
    for _ in range(batches):
        if way == "ours":
            drain()
        times.append(batch(target.work, calls))
    recursion = min(batch(lambda _: target.fibonacci(16), 1) for _ in range(9))
    times.sort()
    print(times[len(times) // 2], times[0], recursion)
    sys.stdout.flush()
    for client in CLIENTS:
        client.kill()
    os._exit(0)


main(sys.argv[1])
