"""A program that takes memory until it gets none; whoever set the limit is the shell that started it."""

print("loading weights", flush=True)
held = []
while True:
    held.append(bytearray(16 << 20))
