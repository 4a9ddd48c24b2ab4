"""The copy that lies beside it, and that nobody imports."""


def size():
    tokens = 4096
    return tokens
