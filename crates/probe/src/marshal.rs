//! The part of Python's `marshal` format, version 2, that the overlay writes. Nothing here knows what the data means.

/// One decoded value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Data {
    None,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits, in decimal.
    Big(String),
    /// An integer too long to show, by the number of its bits.
    Huge(u64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Tuple(Vec<Data>),
    List(Vec<Data>),
    Dict(Vec<(Data, Data)>),
}

const MOST_DEPTH: u32 = 32;
/// As many as the overlay itself shows.
const MOST_BITS: u64 = 2048;

/// A reader of marshalled values that follow one another.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The number of bytes that were not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the next value; `None` at the end or where the bytes are no such value.
    pub(crate) fn next_value(&mut self) -> Option<Data> {
        self.value(0).flatten()
    }

    /// The inner `None` is the end mark of a dict.
    fn value(&mut self, depth: u32) -> Option<Option<Data>> {
        if depth > MOST_DEPTH {
            return None;
        }
        let data = match self.byte()? {
            b'0' => return Some(None),
            b'N' => Data::None,
            b'T' => Data::Bool(true),
            b'F' => Data::Bool(false),
            b'i' => Data::Int(i32::from_le_bytes(self.array()?).into()),
            b'l' => self.long()?,
            b'g' => Data::Float(f64::from_le_bytes(self.array()?)),
            b'u' => {
                let length = self.length()?;
                Data::Text(text(self.take(length)?))
            }
            b's' => {
                let length = self.length()?;
                Data::Bytes(self.take(length)?.to_vec())
            }
            b'(' => Data::Tuple(self.items(depth)?),
            b'[' => Data::List(self.items(depth)?),
            b'{' => Data::Dict(self.entries(depth)?),
            _ => return None,
        };
        Some(Some(data))
    }

    fn items(&mut self, depth: u32) -> Option<Vec<Data>> {
        let length = self.length()?;
        (0..length).map(|_| self.value(depth + 1).flatten()).collect()
    }

    fn entries(&mut self, depth: u32) -> Option<Vec<(Data, Data)>> {
        let mut entries = Vec::new();
        while let Some(key) = self.value(depth + 1)? {
            entries.push((key, self.value(depth + 1).flatten()?));
        }
        Some(entries)
    }

    /// A long is a signed count of digits of 15 bits, the least first.
    fn long(&mut self) -> Option<Data> {
        let count = i32::from_le_bytes(self.array()?);
        let digits = (0..count.unsigned_abs()).map(|_| self.array().map(u16::from_le_bytes)).collect::<Option<Vec<u16>>>()?;
        let small = digits.iter().rev().try_fold(0_i128, |sum, &digit| sum.checked_mul(1 << 15)?.checked_add(digit.into()));
        let signed = small.and_then(|value| i64::try_from(if count < 0 { -value } else { value }).ok());
        let bits = digits.last().map_or(0, |last| (digits.len() as u64 - 1) * 15 + u64::from(u16::BITS - last.leading_zeros()));
        Some(match signed {
            Some(number) => Data::Int(number),
            None if bits > MOST_BITS => Data::Huge(bits),
            None => Data::Big(decimal(&digits, count < 0)),
        })
    }

    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
        (length <= self.bytes.len()).then_some(length)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(count)?;
        self.bytes = tail;
        Some(head)
    }
}

/// Python's text may hold halves of surrogate pairs, which Rust's may not: they are spelled as Python spells them, `\udc80`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let (good, bad) = rest.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(good));
        match bad {
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] => {
                let code = 0xd000 | (u32::from(*second) & 0x3f) << 6 | (u32::from(*third) & 0x3f);
                text.push_str(&format!("\\u{code:04x}"));
                rest = &bad[3..];
            }
            _ => {
                text.push(char::REPLACEMENT_CHARACTER);
                rest = &bad[error.error_len().unwrap_or(bad.len())..];
            }
        }
    }
    text.push_str(&String::from_utf8_lossy(rest));
    text
}

/// Prints digits of 15 bits in decimal, by repeated division.
fn decimal(digits: &[u16], negative: bool) -> String {
    const CHUNK: u64 = 1_000_000_000;
    let mut rest: Vec<u64> = digits.iter().rev().map(|&digit| digit.into()).collect();
    let mut chunks = Vec::new();
    while rest.iter().any(|&digit| digit != 0) {
        let mut remainder = 0;
        for digit in &mut rest {
            let value = (remainder << 15) | *digit;
            *digit = value / CHUNK;
            remainder = value % CHUNK;
        }
        chunks.push(remainder);
    }
    let head = chunks.pop().unwrap_or(0);
    let tail: String = chunks.iter().rev().map(|chunk| format!("{chunk:09}")).collect();
    format!("{}{head}{tail}", if negative { "-" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::{Data, Reader};

    #[test]
    fn what_python_marshals_is_read_back() {
        // marshal.dumps((1, -2.5, "é", 2**40, -(2**70), [None, True], {"a": 1}), 2), as CPython 3.8 to 3.13 write it.
        let bytes = b"(\x07\x00\x00\x00i\x01\x00\x00\x00g\x00\x00\x00\x00\x00\x00\x04\xc0u\x02\x00\x00\x00\xc3\xa9\
            l\x03\x00\x00\x00\x00\x00\x00\x00\x00\x04l\xfb\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\
            [\x02\x00\x00\x00NT{u\x01\x00\x00\x00ai\x01\x00\x00\x000";
        let expected = Data::Tuple(vec![
            Data::Int(1),
            Data::Float(-2.5),
            Data::Text("é".into()),
            Data::Int(1 << 40),
            Data::Big("-1180591620717411303424".into()),
            Data::List(vec![Data::None, Data::Bool(true)]),
            Data::Dict(vec![(Data::Text("a".into()), Data::Int(1))]),
        ]);
        assert_eq!(Reader::new(bytes).next_value(), Some(expected));
    }

    #[test]
    fn halves_of_surrogate_pairs_are_spelled_and_other_text_is_kept() {
        // marshal.dumps("a\udc80é\ud83d", 2)
        let bytes = b"u\x09\x00\x00\x00a\xed\xb2\x80\xc3\xa9\xed\xa0\xbd";
        assert_eq!(Reader::new(bytes).next_value(), Some(Data::Text("a\\udc80é\\ud83d".into())));
        assert_eq!(Reader::new(b"u\x03\x00\x00\x00a\xff\xed").next_value(), Some(Data::Text("a\u{fffd}\u{fffd}".into())));
    }

    #[test]
    fn torn_bytes_are_no_value() {
        let whole = b"(\x02\x00\x00\x00u\x03\x00\x00\x00abci\x01\x00\x00\x00";
        assert!(Reader::new(whole).next_value().is_some());
        for end in 0..whole.len() {
            assert_eq!(Reader::new(&whole[..end]).next_value(), None, "cut at {end}");
        }
        assert_eq!(Reader::new(b"(\xff\xff\xff\x7fN").next_value(), None);
    }
}
