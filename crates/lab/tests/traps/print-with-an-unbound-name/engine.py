"""A program that a debug print is put into."""


def size(available, total, fraction):
    rest = available - total * (1 - fraction)
    return rest


if __name__ == "__main__":
    print(f"rest {size(60.0, 90.0, 0.5):.1f}")
