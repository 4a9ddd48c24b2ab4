"""A stand-in for a device that records a graph: to read a value while it records is an error, and spoils what was recorded."""


class Stream:
    capturing = False
    spoilt = False


class Tensor:
    def __init__(self, shape, dtype, values):
        self.shape, self.dtype, self.device, self._values = shape, dtype, "cuda:0", values

    def item(self):
        if Stream.capturing:
            Stream.spoilt = True
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        return self._values[0]

    def __repr__(self):
        return f"tensor({self.item()})"

    def __float__(self):
        return float(self.item())

    __len__ = __bool__ = __index__ = __int__ = item


class Graph:
    def __enter__(self):
        Stream.capturing = True

    def __exit__(self, kind, error, traceback):
        Stream.capturing = False
        if kind is None and Stream.spoilt:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")
