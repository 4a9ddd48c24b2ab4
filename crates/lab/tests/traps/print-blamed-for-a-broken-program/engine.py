"""A program that stops, print or no print."""


def size(available, total, fraction):
    rest = available - total * (1 - fraction)
    if rest <= 0:
        raise RuntimeError(f"not enough memory: {rest:.1f} left")
    return rest


if __name__ == "__main__":
    size(21.7, 94.0, 0.55)
