"""The function that the benchmark probes, its unprobed twin, and code that nothing probes."""


def work(number):
    a = number + 1
    b = a * 2
    c = (a, b)
    d = "text"
    e = a * 0.5
    return a


def twin(number):
    a = number + 1
    b = a * 2
    c = (a, b)
    d = "text"
    e = a * 0.5
    return a


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)
