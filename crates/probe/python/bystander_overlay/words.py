"""The words `return` and `raise` in an expression: what a function gives back, and the exception that leaves it.

Both are keywords, so they are exchanged for names of the same length before the expression is parsed: offsets stay.
"""

import _ast

from bystander_overlay.tree import walk

RETURN, RAISE = "return", "raise"
_LETTERS = "_rtqxzj"


def is_word(name):
    """Tells whether a name in a parsed expression is one of the two words."""
    return name in (RETURN, RAISE)


def exchanged(text):
    """Exchanges the two words for names that do not occur in the text; returns the text and `{name: word}`."""
    names = {}
    for word in (RETURN, RAISE):
        if word in text:
            places = _places(text, word)
            if places:
                name = _unused(text, len(word))
                names[name] = word
                for place in places:
                    text = text[:place] + name + text[place + len(word) :]
    return text, names


def restored(node, names):
    """Gives the names in a parsed expression their words back."""
    if names:
        for part in walk(node):
            if isinstance(part, _ast.Name) and part.id in names:
                part.id = names[part.id]
    return node


def _unused(text, length):
    for letter in _LETTERS:
        name = "_" + letter * (length - 1)
        if name not in text:
            return name
    return "_" * length


def _places(text, word):
    """Where a word stands alone: not in a string, not as a part of a name, not as an attribute."""
    found, index, quote = [], 0, None
    while index < len(text):
        letter = text[index]
        if quote is not None:
            if letter == "\\":
                index += 1
            elif text.startswith(quote, index):
                index += len(quote) - 1
                quote = None
        elif letter in "'\"":
            quote = letter * 3 if text.startswith(letter * 3, index) else letter
            index += len(quote) - 1
        elif letter.isidentifier() or letter.isdigit():
            end = index
            while end < len(text) and ("_" + text[end]).isidentifier():
                end += 1
            if text[index:end] == word and not text[:index].rstrip().endswith("."):
                found.append(index)
            index = max(end, index + 1) - 1
        index += 1
    return found
