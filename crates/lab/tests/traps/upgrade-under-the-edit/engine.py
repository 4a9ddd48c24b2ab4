"""A module that an upgrade of the package writes anew while the experiment runs."""


def size():
    tokens = 4096
    return tokens
