//! Which keys of dicts look secret; the same rule as `secret.py`, which says why.
//!
//! Letters beyond ASCII part words here and belong to them there: a key that has one beside a secret word is withheld.

const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "authentication",
    "apikey",
    "cookie",
    "cookies",
    "bearer",
    "jwt",
    "privatekey",
    "accesskey",
    "secretkey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "sessionid",
    "csrf",
    "xsrf",
];
const BEFORE_KEY: &[&str] = &[
    "api",
    "access",
    "private",
    "secret",
    "encryption",
    "signing",
    "auth",
    "session",
    "master",
    "ssh",
    "hmac",
    "aes",
    "rsa",
    "app",
    "client",
    "service",
];
const BEFORE_TOKENS: &[&str] = &[
    "api",
    "access",
    "auth",
    "authorization",
    "authentication",
    "bearer",
    "refresh",
    "session",
    "csrf",
    "xsrf",
    "id",
    "security",
    "secret",
    "user",
    "client",
    "oauth",
    "hf",
    "gh",
    "github",
    "gitlab",
    "hub",
    "huggingface",
    "login",
    "jwt",
    "slack",
    "bot",
    "device",
    "service",
];
const LONGEST: usize = 16;
const TOO_LONG: usize = usize::MAX;

/// One word of a name in lower case; of one that is longer than any that matters only that is kept.
#[derive(Clone, Copy)]
struct Word {
    letters: [u8; LONGEST],
    length: usize,
}

const EMPTY: Word = Word { letters: [0; LONGEST], length: 0 };

impl Word {
    fn push(&mut self, letter: u8) {
        if let Some(place) = self.letters.get_mut(self.length) {
            *place = letter;
            self.length += 1;
        } else {
            self.length = TOO_LONG;
        }
    }

    fn is(&self, text: &str) -> bool {
        self.letters.get(..self.length) == Some(text.as_bytes())
    }

    fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
}

/// What has been seen of a name's words.
struct Seen {
    before: Word,
    word: Word,
    secret: bool,
    tokens_of_something: bool,
}

impl Seen {
    /// Looks at the word that has ended.
    fn close(&mut self) {
        if self.word.length == 0 {
            return;
        }
        let is_key = self.word.is("key") || self.word.is("keys");
        self.secret |= self.word.is_one_of(WORDS) || (is_key && self.before.is_one_of(BEFORE_KEY));
        self.tokens_of_something |= self.word.is("tokens") && self.before.is_one_of(BEFORE_TOKENS);
        self.before = self.word;
        self.word = EMPTY;
    }
}

/// Tells whether what stands under a key must be withheld; the key is UTF-8 as the writer spelled it.
pub(crate) fn is_secret(key: &[u8]) -> bool {
    let mut seen = Seen { before: EMPTY, word: EMPTY, secret: false, tokens_of_something: false };
    let mut previous = 0;
    for &letter in key {
        if !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && u8::is_ascii_lowercase(&previous)) {
            seen.close();
        }
        if letter.is_ascii_alphanumeric() {
            seen.word.push(letter.to_ascii_lowercase());
        }
        previous = letter;
    }
    seen.close();
    let last = &seen.before;
    seen.secret || last.is("token") || (seen.tokens_of_something && last.is("tokens"))
}
