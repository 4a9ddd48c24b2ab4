"""A server on a library that waits for a debugger."""

print("loading weights", flush=True)
import library  # noqa: E402, F401
