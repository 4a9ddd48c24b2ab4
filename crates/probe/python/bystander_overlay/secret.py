"""Which names look secret. Errs towards redaction, but counts of tokens and the like are not secrets."""

_WORDS = frozenset(
    "password passwd passphrase pwd secret secrets credential credentials auth authorization authentication apikey cookie cookies "
    "bearer jwt privatekey accesskey secretkey accesstoken authtoken refreshtoken sessionid csrf xsrf".split()
)
_BEFORE_KEY = frozenset("api access private secret encryption signing auth session master ssh hmac aes rsa app client service".split())
_BEFORE_TOKEN = frozenset(
    "api access auth authorization authentication bearer refresh session csrf xsrf id security secret user client oauth hf gh "
    "github gitlab hub huggingface login jwt slack bot device service".split()
)

NEVER, TEXT_ONLY, ALWAYS = 0, 1, 2
"""How much of a value its name withholds: nothing; texts and containers, but not numbers; everything."""


def words_of(name):
    """Splits `apiKey`, `API_KEY` and `api-key` into lower-case words."""
    words, word, previous = [], "", ""
    for letter in name:
        if not letter.isalnum():
            words.append(word)
            word = ""
        else:
            if letter.isupper() and previous.islower():
                words.append(word)
                word = ""
            word += letter.lower()
        previous = letter
    words.append(word)
    return [item for item in words if item]


def secrecy(name):
    """Tells how much of a value under this name must be withheld."""
    words = words_of(name)
    if any(word in _WORDS for word in words):
        return ALWAYS
    for before, word in zip([""] + words, words):
        if word in ("key", "keys") and before in _BEFORE_KEY:
            return ALWAYS
        if word in ("token", "tokens") and before in _BEFORE_TOKEN and word == words[-1]:
            return ALWAYS
    # A `token` may be a credential or a number of a vocabulary; the value tells.
    return TEXT_ONLY if words[-1:] == ["token"] else NEVER
