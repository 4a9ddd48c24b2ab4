"""The source; what is run is the build that is made of it."""


def size(available, total):
    rest = available - total
    return rest
