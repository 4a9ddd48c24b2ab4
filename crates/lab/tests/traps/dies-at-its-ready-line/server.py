"""A server that prints its ready line and dies at once: nothing ever listens."""

print("server ready", flush=True)
raise SystemExit(4)
