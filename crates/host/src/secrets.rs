//! Secrets stay out of the record: what looks secret by its name, and the password of an address, is replaced by a keyed hash before anything is stored.
//!
//! The key lies in the state directory, is made once, and is never exported; equal secrets have equal hashes within one state directory, so that
//! two trials can still be told apart by them.

mod plan;
mod url;
mod value;

use std::fs;
use std::io;
use std::path::Path;

use bystander_lab::printed;
use bystander_model::evidence::Evidence;
use bystander_store::state::write_once;
use sha2::{Digest as _, Sha256};

pub use value::blot_hit;

/// Values shorter than this are not looked for in texts: they would match by chance.
const SHORTEST_SOUGHT: usize = 6;

/// The length of a key.
const KEY_BYTES: usize = 32;

/// Words that make a token one of a text.
const OF_TEXT: [&str; 19] = [
    "per",
    "num",
    "max",
    "min",
    "kv",
    "pool",
    "to",
    "ids",
    "id",
    "length",
    "type",
    "count",
    "distribution",
    "threshold",
    "budget",
    "limit",
    "ratio",
    "size",
    "usage",
];

/// Masks values whose names look secret.
#[derive(Debug, Clone)]
pub struct Masker {
    key: [u8; KEY_BYTES],
}

impl Masker {
    /// Reads the key of a state directory, or makes it.
    ///
    /// # Errors
    /// When the key file can be neither read nor written.
    pub fn open(state: &Path) -> io::Result<Self> {
        let path = state.join("mask.key");
        let mut seed = fs::read(&path);
        if seed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            write_once(&path, &random()?, 0o600)?;
            // Another run may have made it in between: its key is the one.
            seed = fs::read(&path);
        }
        let seed = seed?;
        if seed.len() < KEY_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "mask.key is cut short; remove it, and secrets get new hashes"));
        }
        Ok(Self { key: Sha256::digest(&seed).into() })
    }

    /// Masks with a key that nobody keeps, where nothing is recorded.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn forgotten() -> io::Result<Self> {
        Ok(Self { key: random()? })
    }

    /// What stands for a secret: `<hidden:HASH>`, twelve hex digits of HMAC-SHA-256.
    #[must_use]
    pub fn mask(&self, value: &str) -> String {
        let pad = |byte: u8| -> Vec<u8> {
            let mut block = vec![byte; 64];
            for (slot, key) in block.iter_mut().zip(self.key) {
                *slot ^= key;
            }
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(value).finalize();
        let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
        format!("<hidden:{}>", crate::proof::hex(&outer[..6]))
    }

    /// A command line with the values of secret options masked: `--api-key VALUE`, `--api-key=VALUE`, `NAME=VALUE`.
    #[must_use]
    pub fn command(&self, words: &[String]) -> Vec<String> {
        let mut hide_next = false;
        words
            .iter()
            .map(|word| {
                if std::mem::take(&mut hide_next) {
                    return self.mask(word);
                }
                if let Some((name, value)) = word.split_once('=') {
                    return if looks_secret(name) { format!("{name}={}", self.mask(value)) } else { self.addresses(word) };
                }
                hide_next = word.starts_with('-') && looks_secret(word);
                self.addresses(word)
            })
            .collect()
    }

    /// The configuration that a program printed, with the values of settings masked whose names look secret. What is known of logs of earlier runs goes
    /// the same way, so that equal settings stay equal.
    pub fn configuration(&self, stated: &mut Evidence) {
        printed::hide(stated, looks_secret, |value| self.mask(value));
    }

    /// A variable's value, masked where its name looks secret; the passwords of addresses in it are masked in any case.
    #[must_use]
    pub fn variable(&self, name: &str, value: &str) -> String {
        if looks_secret(name) { self.mask(value) } else { self.addresses(value) }
    }

    /// A text with the passwords of the addresses in it masked: `postgres://user:PASSWORD@host`.
    #[must_use]
    pub fn addresses(&self, text: &str) -> String {
        url::replaced(text, |password| self.mask(password))
    }
}

/// A command line as a process shows it, with stars for the values of options whose names look secret. The words of another program are not known
/// apart, so a value with a space in it is hidden up to the space.
#[must_use]
pub fn masked_title(title: &str) -> String {
    let mut hide_next = false;
    let word = |word: &str| {
        if std::mem::take(&mut hide_next) {
            return "***".to_owned();
        }
        if let Some((name, _)) = word.split_once('=') {
            return if looks_secret(name) { format!("{name}=***") } else { starred(word) };
        }
        hide_next = word.starts_with('-') && looks_secret(word);
        starred(word)
    };
    title.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn starred(word: &str) -> String {
    url::replaced(word, |_| "***".to_owned())
}

fn random() -> io::Result<[u8; KEY_BYTES]> {
    let mut bytes = [0_u8; KEY_BYTES];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes)
}

/// The secret values of a command line and an environment, to be looked for in what the program prints.
#[must_use]
pub fn values<'a>(command: &'a [String], env: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let of_address = |text: &'a str| url::passwords(text).into_iter().map(|range| text[range].to_owned());
    for (name, value) in env {
        match looks_secret(name) {
            true => found.push(value.to_owned()),
            false => found.extend(of_address(value)),
        }
    }
    found.extend(command.iter().flat_map(|word| of_address(word)));
    for pair in command.windows(2) {
        if pair[0].starts_with('-') && !pair[0].contains('=') && looks_secret(&pair[0]) {
            found.push(pair[1].clone());
        }
    }
    found.extend(
        command.iter().filter_map(|word| word.split_once('=')).filter(|(name, _)| looks_secret(name)).map(|(_, value)| value.to_owned()),
    );
    // A path that is there, such as that of an agent's socket, is no secret, and blotting it would blind every traceback.
    found.retain(|value| value.len() >= SHORTEST_SOUGHT && !(value.starts_with('/') && Path::new(value).exists()));
    found.sort_by_key(|value| std::cmp::Reverse(value.len()));
    found.dedup();
    found
}

/// A text with every secret value replaced by stars of the same length, so that offsets stay.
#[must_use]
pub fn blot<'a>(text: &'a str, secrets: &[String]) -> std::borrow::Cow<'a, str> {
    if !secrets.iter().any(|secret| text.contains(secret.as_str())) {
        return std::borrow::Cow::Borrowed(text);
    }
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), &"*".repeat(secret.len()))).into()
}

/// The secrets as a stream of output holds them.
#[must_use]
pub fn bytes(secrets: &[String]) -> Vec<Vec<u8>> {
    secrets.iter().map(|secret| secret.as_bytes().to_vec()).collect()
}

/// Whether a name of a variable or an option looks secret. Names of the trade that merely contain such a word are not: `max_total_num_tokens`,
/// `tokenizer`, `kv-cache-key`.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let folded: String =
        name.trim_start_matches('-').chars().map(|c| if c == '-' || c == '.' { '_' } else { c.to_ascii_lowercase() }).collect();
    let words: Vec<&str> = folded.split('_').filter(|word| !word.is_empty()).collect();
    let has = |word: &str| words.contains(&word);
    if matches!(folded.as_str(), "pwd" | "oldpwd") {
        return false;
    }
    let joined = words.concat();
    ["secret", "secrets", "password", "passwd", "passphrase", "pwd", "credential", "credentials", "authorization", "cookie", "apikey"]
        .iter()
        .any(|word| has(word))
        || (has("token") && !OF_TEXT.iter().any(|word| has(word)))
        || (has("key")
            && ["api", "access", "private", "secret", "auth", "account", "signing", "encryption", "ssh"].iter().any(|word| has(word)))
        || has("auth") && words.len() > 1 && !has("backend")
        || ["authtoken", "accesstoken", "privatekey", "accesskey", "secretkey"].iter().any(|word| joined.contains(word))
        || folded == "pgpassword"
}

#[cfg(test)]
mod tests {
    use super::{Masker, blot, looks_secret, values};

    #[test]
    fn names_that_look_secret_are_told_from_names_of_the_trade() {
        for name in [
            "HF_TOKEN",
            "--api-key",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "db_password",
            "SSH_PRIVATE_KEY",
            "X_AUTH_TOKEN",
            "PGPASSWORD",
            "hf-token",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        let trade = [
            "PWD",
            "OLDPWD",
            "max_total_num_tokens",
            "TOKENIZERS_PARALLELISM",
            "--tokenizer-path",
            "KEYBOARD",
            "token_to_kv_pool",
            "PATH",
            "cache_key",
            "--max-num-batched-tokens",
            "time_per_token_ms",
            "eos_token_id",
            "tbo_token_distribution_threshold",
        ];
        for name in trade {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn command_lines_hide_values_in_both_forms() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let masker = Masker::open(dir.path()).expect("key");
        let words: Vec<String> = ["serve", "--api-key", "hunter22", "--port", "80", "--hf-token=abcdefgh"].map(String::from).to_vec();
        let masked = masker.command(&words);
        let address =
            masker.command(&["--proxy=http://u:of-proxy@h".to_owned()]).concat() + &masker.variable("DB_URL", "postgres://u:of-db@db");
        assert!(!address.contains("of-") && address.contains("http://u:<hidden:") && address.ends_with("@db"), "{address}");
        assert!(!masked.join(" ").contains("hunter22") && !masked.join(" ").contains("abcdefgh"), "{masked:?}");
        assert_eq!(masked[3..5], ["--port".to_owned(), "80".to_owned()]);
        assert_eq!(Masker::open(dir.path()).expect("key").mask("x"), masker.mask("x"), "the key lasts");
        std::fs::write(dir.path().join("mask.key"), "").expect("written");
        let error = Masker::open(dir.path()).expect_err("a key that everybody knows is none");
        assert!(error.to_string().contains("cut short"), "{error}");
    }

    #[test]
    fn the_command_line_of_another_process_hides_its_secrets() {
        let title = "python3 srv.py --api-key LEAK-1 --port 80 --password=LEAK-2 TOKEN=LEAK-3 db://u:LEAK-4@h --token";
        assert_eq!(super::masked_title(title), "python3 srv.py --api-key *** --port 80 --password=*** TOKEN=*** db://u:***@h --token");
    }

    fn dir_that_is_there() -> String {
        std::env::temp_dir().display().to_string() + "/."
    }

    #[test]
    fn secrets_are_blotted_out_of_texts() {
        let command: Vec<String> = ["--api-key", "hunter22"].map(String::from).to_vec();
        let secrets = values(&command, [("HF_TOKEN", "hf_abcdef"), ("HOME", "/root")].into_iter());
        assert!(
            values(&[], [("SSH_AUTH_SOCK", dir_that_is_there().as_str()), ("PWD", "/tmp/x-y-z")].into_iter()).is_empty(),
            "paths are no secrets"
        );
        let words = ["--proxy=http://u:of-proxy@h".to_owned(), "http://u:of-word@h".to_owned()];
        let found = values(&words, [("DB_URL", "postgres://u:of-variable@db")].into_iter());
        assert_eq!(found, ["of-variable", "of-proxy", "of-word"]);
        assert_eq!(blot("key=hunter22 token=hf_abcdef", &secrets), "key=******** token=*********");
    }
}
