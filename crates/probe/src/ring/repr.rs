//! Bytes as Python's `repr` shows them.

/// Spells bytes as Python does: `b'…'`, with the quotes that need the fewest escapes.
pub(super) fn repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = String::from("b");
    text.push(quote);
    for &byte in bytes {
        match byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' if char::from(byte) != quote => text.push(char::from(byte)),
            b' '..=b'~' => text.extend(['\\', quote]),
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
    text
}

#[cfg(test)]
mod tests {
    use super::repr;

    #[test]
    fn bytes_are_spelled_as_python_spells_them() {
        assert_eq!(repr(b"plain"), "b'plain'");
        assert_eq!(repr(b"it's"), "b\"it's\"");
        assert_eq!(repr(b"'\""), "b'\\'\"'");
        assert_eq!(repr(b"\x00\t\n\r\\\x7f\xff"), "b'\\x00\\t\\n\\r\\\\\\x7f\\xff'");
    }
}
