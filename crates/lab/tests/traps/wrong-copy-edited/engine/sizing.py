"""The copy that the program imports."""


def size():
    tokens = 4096
    return tokens
