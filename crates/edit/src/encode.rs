//! How bytes and paths stand in the journal's JSON, and their checksums.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use sha2::{Digest, Sha256};

/// Gives the SHA-256 of bytes in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Writes bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Reads bytes in hex; `None` where they are not.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Names and paths: as text, or `hex:…` where they are not UTF-8.
pub(crate) fn name_to_text(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.starts_with("hex:") => text.to_owned(),
        _ => format!("hex:{}", hex(name.as_bytes())),
    }
}

/// Reads what [`name_to_text`] wrote; `None` where it is damaged.
pub(crate) fn name_from_text(text: &str) -> Option<OsString> {
    match text.strip_prefix("hex:") {
        None => Some(OsString::from(text)),
        Some(digits) => from_hex(digits).map(OsString::from_vec),
    }
}

/// A path in JSON, for `#[serde(with)]`.
pub(crate) mod path {
    use std::path::{Path, PathBuf};

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::name_to_text(path.as_os_str()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::name_from_text(&text).map(PathBuf::from).ok_or_else(|| D::Error::custom("a path in hex that is damaged"))
    }
}

/// Paths in JSON, for `#[serde(with)]`.
pub(crate) mod paths {
    use std::path::PathBuf;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| super::name_to_text(path.as_os_str())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let paths = texts.iter().map(|text| super::name_from_text(text).map(PathBuf::from));
        paths.collect::<Option<_>>().ok_or_else(|| D::Error::custom("a path in hex that is damaged"))
    }
}

/// Bytes in JSON, in hex, for `#[serde(with)]`.
pub(crate) mod bytes {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::hex(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::from_hex(&text).ok_or_else(|| D::Error::custom("bytes in hex that are damaged"))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::{from_hex, hex, name_from_text, name_to_text, sha256};

    #[test]
    fn every_name_survives_as_text() {
        for name in [&b"plain"[..], b"latin-\xe9", b"hex:00", b""] {
            let name = OsStr::from_bytes(name);
            assert_eq!(name_from_text(&name_to_text(name)).as_deref(), Some(name));
        }
    }

    #[test]
    fn hex_is_read_back_and_damage_is_seen() {
        assert_eq!(from_hex(&hex(b"\x00\xff")).as_deref(), Some(&b"\x00\xff"[..]));
        assert_eq!(from_hex("0"), None);
        assert_eq!(from_hex("zz"), None);
        assert_eq!(&sha256(b"")[..8], "e3b0c442");
    }
}
