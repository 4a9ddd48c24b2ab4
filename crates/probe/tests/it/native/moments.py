"""Functions that return, raise and do neither at once."""

LIMIT = 10
STEP = 1


def half(number):
    result = number / 2
    return result


def fail(number):
    if number % 2:
        raise ValueError("odd", number)
    return number


def maybe(number):
    if number > 5:
        found = number
    if number == 8:
        return found
    return None


if __name__ == "__main__":
    for number in range(LIMIT):
        half(number)
        maybe(number)
        try:
            fail(number)
        except ValueError:
            pass
