"""A file of two editors: most lines end in CRLF, and some do not."""


def share():
    value = 1
    return value
