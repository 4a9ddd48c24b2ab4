def give():
    value = 41
    return value
