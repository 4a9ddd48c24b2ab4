"""A program that takes another way round the place that is looked at."""


def exchange(value):
    total = value + 1
    return total


def exchange_fast(value):
    return value + 1


print(exchange_fast(1))
