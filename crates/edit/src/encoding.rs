//! How the text of a file is encoded, and text that is put into it.

/// How a text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8, of which ASCII is a part.
    Utf8,
    /// ISO 8859-1, as a file says of itself.
    Latin1,
    /// Something else that ASCII is a part of.
    Unknown,
    /// Two or four bytes a letter, by the mark at the start.
    Wide,
}

impl Encoding {
    /// Tells the encoding: by the mark at the start, by what the first two lines say (PEP 263), by what the bytes can be.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.starts_with(b"\0\0\xfe\xff") {
            return Self::Wide;
        }
        match declared(bytes).as_deref() {
            Some("latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "l1") => Self::Latin1,
            Some(name) if !matches!(name, "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii") => Self::Unknown,
            _ if std::str::from_utf8(bytes).is_ok() => Self::Utf8,
            _ => Self::Unknown,
        }
    }

    /// Writes a text in this encoding; the first letter that it has not, where there is one.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Latin1 => text.chars().map(|letter| u8::try_from(u32::from(letter)).or(Err(letter))).collect(),
            Self::Unknown => match text.chars().find(|letter| !letter.is_ascii()) {
                Some(letter) => Err(letter),
                None => Ok(text.as_bytes().to_vec()),
            },
            Self::Wide => Err(text.chars().next().unwrap_or_default()),
        }
    }

    /// What it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Latin1 => "ISO 8859-1",
            Self::Unknown => "neither UTF-8 nor ISO 8859-1",
            Self::Wide => "UTF-16 or UTF-32",
        }
    }
}

/// The encoding that a comment in the first two lines names.
fn declared(bytes: &[u8]) -> Option<String> {
    let lines = bytes.splitn(3, |&byte| byte == b'\n').take(2);
    lines.filter(|line| line.trim_ascii_start().starts_with(b"#")).find_map(|line| {
        let at = memchr::memmem::find(line, b"coding")? + "coding".len();
        let rest = line.get(at..)?;
        let value = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"="))?.trim_ascii_start();
        let name: Vec<u8> = value.iter().copied().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)).collect();
        Some(String::from_utf8_lossy(&name).to_ascii_lowercase().replace('_', "-"))
    })
}

#[cfg(test)]
mod tests {
    use super::Encoding;

    #[test]
    fn encodings_are_told_and_text_is_written_in_them() {
        assert_eq!(Encoding::of("x = 'é'\n".as_bytes()), Encoding::Utf8);
        assert_eq!(Encoding::of(b"#!/usr/bin/python\n# -*- coding: latin_1 -*-\nx = '\xe9'\n"), Encoding::Latin1);
        assert_eq!(Encoding::of(b"# vim: set fileencoding=cp1252 :\n"), Encoding::Unknown);
        assert_eq!(Encoding::of(b"x = '\xe9'\n"), Encoding::Unknown);
        assert_eq!(Encoding::of(b"\xff\xfex\0"), Encoding::Wide);
        assert_eq!(Encoding::Latin1.encode("é"), Ok(vec![0xe9]));
        assert_eq!((Encoding::Latin1.encode("a€"), Encoding::Unknown.encode("é")), (Err('€'), Err('é')));
        assert_eq!(Encoding::Unknown.encode("e"), Ok(b"e".to_vec()));
    }
}
