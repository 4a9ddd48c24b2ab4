"""A program that reaches its probed functions in every way a Python program can. Its output tells nothing that varies."""

import multiprocessing
import os
import signal
import subprocess
import sys

from pkg import mod


def worker(number):
    doubled = number * 2
    mod.add(doubled)
    return doubled


def pool(method):
    with multiprocessing.get_context(method).Pool(2) as workers:
        print(sorted(workers.map(worker, [1, 2, 3])))


def plain():
    print(worker(5), mod.add(1), sys.argv[1:])


def process(*arguments):
    done = subprocess.run([sys.executable] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.returncode, done.stdout.decode())


def child():
    process("-c", "from pkg import mod; print(mod.add(9))")


def forked():
    worker(1)
    pid = os.fork()
    if pid == 0:
        worker(2)
        os._exit(0)
    os.waitpid(pid, 0)
    worker(3)


def source():
    import inspect

    print(inspect.getsource(mod.add), inspect.getsource(worker), inspect.getsourcelines(mod.Pool.grow))
    print(mod.add.__code__.co_filename, mod.add.__code__.co_firstlineno, mod.__file__, mod.__cached__, mod.__spec__)


def traceback():
    worker(1)
    mod.fail(3)


def caught():
    import traceback as printer

    try:
        mod.fail(1)
    except ValueError:
        printer.print_exc()
        printer.print_stack()


def bad_import():
    import broken  # noqa: F401


def bad_import_of_probed():
    import pkg.raising  # noqa: F401


def interrupt():
    worker(1)
    # What started this program may have it ignore the signal, as a shell does with what it puts into the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)


def leave():
    worker(1)
    sys.exit("bye")


def state():
    import atexit

    worker(1)
    modules = sorted(name for name in sys.modules if not name.startswith("bystander_overlay"))
    allowed = {"_ast", "_collections", "_functools", "_operator", "_struct", "mmap", "marshal", "time", "itertools", "types", "_types"}
    print([name for name in modules if name not in allowed])
    print(sys.path, [entry for entry in sys.path_importer_cache if "overlay" in entry], sys.meta_path, len(sys.path_hooks))
    print(sorted(os.listdir("/proc/self/fd")), sys.flags, sys.excepthook is sys.__excepthook__)
    main = sys.modules["__main__"].__dict__
    print([(name, main[name]) for name in main if name in ("__name__", "__file__", "__spec__", "__package__", "__cached__", "__doc__")])
    print(type(main["__loader__"]), list(main)[:9], sys._getframe(1).f_back.f_back is None)
    atexit.register(lambda: print("at exit", "__file__" in main, sys.modules.get("runpy")))


def reload():
    import importlib

    importlib.reload(mod)
    print(mod.add(4))


def rerun():
    import runpy

    runpy.run_path("main.py", run_name="__main__", init_globals={"AGAIN": True})


def execute():
    names = {"__name__": "executed"}
    with open("pkg/mod.py") as file:
        exec(compile(file.read(), "pkg/mod.py", "exec"), names)
    print(names["add"](2))


def flags():
    names = {}
    exec(compile("def f(x: undefined_here): return x", "other.py", "exec"), names)
    print(names["f"].__annotations__ if sys.version_info < (3, 14) else None)


def trace():
    events = []

    def tracer(frame, event, argument):
        if frame.f_code.co_filename.endswith(("mod.py", "main.py")):
            events.append((event, frame.f_code.co_name, frame.f_lineno))
            return tracer

    sys.settrace(tracer)
    worker(2)
    mod.Pool(2).grow(3)
    mod.choose(1)
    mod.choose(0)
    sys.settrace(None)
    print(events)


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 and "AGAIN" not in globals() else "plain"
    if mode in ("fork", "spawn", "forkserver"):
        pool(mode)
    else:
        globals()[mode]()


if __name__ == "__main__":
    main()
