"""An engine that takes a flag and leaves it: it runs with what the process before it had set, and says so in its own configuration."""

print("server_args=ServerArgs(model_path='tiny', batch_invariant=False, tp_size=1)")
print("took 10 ms")
