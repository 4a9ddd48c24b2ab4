"""A worker that answers in lines of JSON on its standard output, and is busy in a small function."""

import json


def mix(value):
    mixed = (value * 31 + 7) % 65521
    return mixed


value = 1
for number in range(5_000):
    value = mix(value)
print(json.dumps({"value": value}))
