"""A newer version of an engine: one of the two places that a patch of the older one is for looks otherwise."""


def slicing(tokens):
    threshold = 128
    return tokens // threshold


def chunks(tokens, limit=None):
    return tokens // (limit or 16)


print("[INFO] patch applied: 64-token slicing")
print(f"slices={slicing(4096)} chunks={chunks(4096)}")
