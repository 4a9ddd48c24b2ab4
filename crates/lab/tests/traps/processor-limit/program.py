"""A program that holds some memory and works on, until the kernel ends it at a limit of processor time, without a word."""

held = bytearray(64 << 20)
print("loading weights", flush=True)
while True:
    pass
