//! The values in a record of the native recorder; the tags are those of `crates/recorder/native/writer.rs`, which writes them.
//!
//! Any bytes are values or none: what is read is bounded by what is there, and nesting by a limit.

use bystander_model::value::{ObjectValue, Value};
use indexmap::IndexMap;

use super::repr::repr;
use crate::marshal::text;
use crate::value::float;

const MOST_DEPTH: u32 = 8;
const HAS_ITEMS: u8 = 1;
const TRUNCATED: u8 = 2;
const END: u8 = 255;

/// A reader of values that follow one another.
pub(super) struct Values<'a> {
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Reads some values; `None` where the bytes are fewer, or none.
    pub(super) fn take(&mut self, count: usize) -> Option<Vec<Value>> {
        (0..count).map(|_| self.value(0)).collect()
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        let tag = self.byte()?;
        self.tagged(tag, depth)
    }

    fn tagged(&mut self, tag: u8, depth: u32) -> Option<Value> {
        if depth > MOST_DEPTH {
            return None;
        }
        Some(match tag {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Int(self.word()?.cast_signed()),
            4 => float(f64::from_bits(self.word()?)),
            5 => Value::Text(self.text()?),
            6 => object(ObjectValue { text: Some(self.text()?), ..named("int") }),
            7 => object(self.fields()?),
            8 => self.sequence("tuple", depth)?,
            9 => self.sequence("list", depth)?,
            10 => self.mapping(depth)?,
            11 => object(ObjectValue { len: Some(self.word()?), ..named("set") }),
            12 => object(ObjectValue { len: Some(self.word()?), ..named("frozenset") }),
            13 => self.some_bytes("bytes")?,
            14 => self.some_bytes("bytearray")?,
            15 => object(ObjectValue { len: Some(self.word()?), text: Some(self.text()?), truncated: true, ..named("str") }),
            16 => Value::redacted(),
            17 => Value::error(self.text()?),
            18 => object(ObjectValue { truncated: true, ..ObjectValue::default() }),
            _ => return None,
        })
    }

    fn sequence(&mut self, name: &str, depth: u32) -> Option<Value> {
        let (len, flags) = (self.word()?, self.byte()?);
        let mut known = ObjectValue { len: Some(len), truncated: flags & TRUNCATED != 0, ..named(name) };
        if flags & HAS_ITEMS != 0 {
            let items = known.items.insert(Vec::new());
            loop {
                match self.byte()? {
                    END => break,
                    tag => items.push(self.tagged(tag, depth + 1)?),
                }
            }
        }
        Some(object(known))
    }

    fn mapping(&mut self, depth: u32) -> Option<Value> {
        let (len, flags) = (self.word()?, self.byte()?);
        let mut known = ObjectValue { len: Some(len), truncated: flags & TRUNCATED != 0, ..named("dict") };
        if flags & HAS_ITEMS != 0 {
            let entries = known.entries.insert(IndexMap::new());
            while self.byte()? != END {
                let key = self.text()?;
                entries.insert(key, self.value(depth + 1)?);
            }
        }
        Some(object(known))
    }

    fn some_bytes(&mut self, name: &str) -> Option<Value> {
        let (len, kept) = (self.word()?, usize::from(self.byte()?));
        let shown = self.bytes(kept)?;
        let truncated = len > kept as u64;
        Some(object(ObjectValue { len: Some(len), text: Some(repr(shown)), truncated, ..named(name) }))
    }

    fn fields(&mut self) -> Option<ObjectValue> {
        let mut known = ObjectValue::default();
        let mut module = None;
        loop {
            match self.byte()? {
                1 => module = Some(self.text()?),
                2 => known.type_name = Some(self.text()?),
                4 => known.text = Some(self.text()?),
                5 => {
                    let count = self.byte()?;
                    known.shape = Some((0..count).map(|_| self.word().map(u64::cast_signed)).collect::<Option<_>>()?);
                }
                6 => known.dtype = Some(self.text()?),
                7 => known.device = Some(self.text()?),
                8 => known.truncated = true,
                9 => known.text = Some(format!("{} bits", self.word()?)),
                END => break,
                _ => return None,
            }
        }
        if let Some(module) = module.filter(|module| module != "builtins") {
            known.type_name = known.type_name.map(|name| format!("{module}.{name}"));
        }
        Some(known)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(u32::from_ne_bytes(self.array()?)).ok()?;
        Some(text(self.bytes(length)?))
    }

    fn word(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(count)?;
        self.bytes = tail;
        Some(head)
    }
}

fn named(name: &str) -> ObjectValue {
    ObjectValue { type_name: Some(name.to_owned()), ..ObjectValue::default() }
}

fn object(value: ObjectValue) -> Value {
    Value::Object(Box::new(value))
}
