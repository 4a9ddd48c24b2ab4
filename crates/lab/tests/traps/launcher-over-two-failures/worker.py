"""A worker that lacks a file."""


def load():
    ranks = []
    raise FileNotFoundError("/models/tokenizer.json")


load()
