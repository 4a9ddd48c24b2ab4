//! Writes values by their exact type: the same forms and limits as `encode.py`.
//!
//! The limits: 200 characters, 100 bytes, 8 items, depth 2. Nothing of a value is kept.

use core::mem::MaybeUninit;

use crate::interpreter::{clear, raised};
use crate::names::is_shown;
use crate::object;
use crate::python::{Ref, Trouble, kind};
use crate::quiet::quiet;
use crate::secret::is_secret;
use crate::writer::{HAS_ITEMS, TRUNCATED, Writer, field, tag};

pub(crate) const TEXT_LIMIT: usize = 200;
pub(crate) const DEPTH: u32 = 2;
/// Most texts are this short: a small buffer for them is a small part of the stack.
const SHORT: usize = 32;
const BYTES_LIMIT: usize = 100;
pub(crate) const ITEM_LIMIT: usize = 8;
const KEY_LIMIT: usize = 50;

/// Writes one value.
pub(crate) fn value(out: &mut Writer, value: Ref, depth: u32) {
    let kind = value.kind();
    if kind == kind!(PyLong_Type) {
        int(out, value);
    } else if kind == kind!(PyFloat_Type) {
        out.tagged(tag::FLOAT, value.as_f64().to_bits());
    } else if kind == kind!(PyUnicode_Type) {
        text(out, value);
    } else if let Some(flag) = value.as_bool() {
        out.byte(if flag { tag::TRUE } else { tag::FALSE });
    } else if value.is_none() {
        out.byte(tag::NONE);
    } else if kind == kind!(PyTuple_Type) {
        sequence(out, tag::TUPLE, value, depth, Ref::tuple_item_within);
    } else if kind == kind!(PyList_Type) {
        sequence(out, tag::LIST, value, depth, Ref::list_item_within);
    } else if kind == kind!(PyDict_Type) {
        mapping(out, value, depth);
    } else {
        rarer(out, value, kind);
    }
}

fn rarer(out: &mut Writer, value: Ref, kind: Ref) {
    if kind == kind!(PyBytes_Type) || kind == kind!(PyByteArray_Type) {
        let first = value.first_bytes(BYTES_LIMIT);
        out.tagged(if kind == kind!(PyBytes_Type) { tag::BYTES } else { tag::BYTE_ARRAY }, value.size() as u64);
        out.byte(first.len() as u8);
        out.bytes(first);
    } else if kind == kind!(PySet_Type) || kind == kind!(PyFrozenSet_Type) {
        out.tagged(if kind == kind!(PySet_Type) { tag::SET } else { tag::FROZEN_SET }, value.size() as u64);
    } else if kind == kind!(PyComplex_Type) {
        out.byte(tag::OBJECT);
        out.byte(field::TYPE);
        out.text(b"complex");
        shown_by(out, value, kind);
        out.byte(tag::END);
    } else {
        object::describe(out, value, kind);
    }
}

fn int(out: &mut Writer, value: Ref) {
    if let Some(number) = value.as_i64() {
        out.tagged(tag::INT, number.cast_unsigned());
        return;
    }
    if is_shown(value) {
        if let Ok(digits) = value.shown_by(kind!(PyLong_Type)) {
            out.byte(tag::BIG);
            characters(out, digits.get(), usize::MAX);
            return;
        }
        clear();
    }
    out.byte(tag::OBJECT);
    out.byte(field::TYPE);
    out.text(b"int");
    object::bits(out, value);
    out.byte(field::TRUNCATED);
    out.byte(tag::END);
}

fn text(out: &mut Writer, value: Ref) {
    let length = value.characters();
    if length > TEXT_LIMIT {
        out.tagged(tag::CUT_TEXT, length as u64);
    } else {
        out.byte(tag::TEXT);
    }
    characters(out, value, TEXT_LIMIT);
}

/// The first characters of a str or a subclass as UTF-8, the number of bytes before them.
///
/// Asking CPython for UTF-8 would leave a copy in the object, and what is more, longer than the hit.
pub(crate) fn characters(out: &mut Writer, value: Ref, most: usize) {
    let length = value.characters();
    let taken = if length < most { length } else { most };
    if length <= SHORT {
        copied::<SHORT>(out, value, length, taken);
    } else if length <= TEXT_LIMIT {
        copied::<TEXT_LIMIT>(out, value, length, taken);
    } else {
        let start = out.position();
        out.length(0);
        for index in 0..taken {
            out.character(value.character(index));
            if out.is_full() {
                return;
            }
        }
        out.settle(start);
    }
}

fn copied<const ROOM: usize>(out: &mut Writer, value: Ref, length: usize, taken: usize) {
    let mut buffer = [const { MaybeUninit::uninit() }; ROOM];
    let characters = buffer.get_mut(..length).and_then(|whole| value.copy_characters(whole)).unwrap_or_default();
    let characters = characters.get(..taken).unwrap_or(characters);
    if !out.ascii(characters) {
        let start = out.position();
        out.length(0);
        for &code in characters {
            out.character(code);
        }
        out.settle(start);
    }
}

/// The text that a built-in type gives of a value, as a field.
pub(crate) fn shown_by(out: &mut Writer, value: Ref, kind: Ref) {
    match value.shown_by(kind) {
        Ok(text) => {
            out.byte(field::TEXT);
            characters(out, text.get(), usize::MAX);
        }
        Err(_) => clear(),
    }
}

fn sequence(out: &mut Writer, tag: u8, container: Ref, depth: u32, item: fn(Ref, usize) -> Option<Ref>) {
    let length = container.size();
    let shown = if length < ITEM_LIMIT { length } else { ITEM_LIMIT };
    out.tagged(tag, length as u64);
    if depth == 0 {
        out.byte(0);
        return;
    }
    out.byte(if length > ITEM_LIMIT { HAS_ITEMS | TRUNCATED } else { HAS_ITEMS });
    for index in 0..shown {
        let Some(item) = item(container, index) else { break };
        value(out, item, depth - 1);
    }
    out.byte(tag::END);
}

fn mapping(out: &mut Writer, container: Ref, depth: u32) {
    out.tagged(tag::DICT, container.size() as u64);
    let flags = out.position();
    out.byte(if depth == 0 { 0 } else { HAS_ITEMS });
    if depth == 0 {
        return;
    }
    let mut keys = Keys { starts: [core::ptr::null_mut(); ITEM_LIMIT], count: 0 };
    let mut place = 0;
    while let Some((key, entry)) = container.next_entry(&mut place) {
        let start = out.position();
        if out.is_full() {
            return;
        }
        out.byte(tag::TEXT);
        let looks_secret = key_looks_secret(out, key);
        if keys.count == ITEM_LIMIT || !key_text(out, key, KEY_LIMIT) {
            out.rewind(start);
            out.replace(flags, HAS_ITEMS | TRUNCATED);
            break;
        }
        let secret = looks_secret.unwrap_or_else(|| is_secret(out.since(start.wrapping_add(5))));
        keys.note(out, start);
        if secret { out.byte(tag::REDACTED) } else { value(out, entry, depth - 1) }
    }
    out.byte(tag::END);
}

/// Where the texts of a dict's keys were written: keys that look alike count once, as they do for the reader.
struct Keys {
    starts: [*mut u8; ITEM_LIMIT],
    count: usize,
}

impl Keys {
    fn note(&mut self, out: &Writer, start: *mut u8) {
        let text = out.since(start);
        let known = self.starts.iter().take(self.count).any(|&earlier| out.since(earlier).get(..text.len()) == Some(text));
        if let (false, Some(place)) = (known, self.starts.get_mut(self.count)) {
            *place = start;
            self.count += 1;
        }
    }
}

/// Whether a key that may be longer than what is shown of it looks secret; `None` where what is shown tells.
///
/// The text lies in the ring for a moment, behind what is published.
fn key_looks_secret(out: &mut Writer, key: Ref) -> Option<bool> {
    let start = out.position();
    if key.kind() == kind!(PyUnicode_Type) && key.characters() > KEY_LIMIT {
        characters(out, key, TEXT_LIMIT);
    } else if !(key.kind() == kind!(PyTuple_Type) || key.kind() == kind!(PyBytes_Type)) || !key_text(out, key, usize::MAX) {
        return None;
    }
    let secret = is_secret(out.since(start.wrapping_add(4)));
    if !out.is_full() {
        out.rewind(start);
    }
    Some(secret)
}

/// Writes the text of a key; false where to make it could run code of the program, or take long.
fn key_text(out: &mut Writer, key: Ref, most: usize) -> bool {
    let kind = key.kind();
    if kind == kind!(PyUnicode_Type) {
        characters(out, key, most);
        return true;
    }
    if !is_short(key, DEPTH) {
        return false;
    }
    if kind == kind!(PyTuple_Type) {
        // Its text is made by way of a list, which the collector watches.
        quiet();
    }
    match key.shown_by(kind) {
        Ok(text) => {
            characters(out, text.get(), most);
            true
        }
        Err(_) => {
            clear();
            false
        }
    }
}

/// Tells whether a key is an exact built-in whose text is short, and a tuple all of whose items are.
fn is_short(key: Ref, depth: u32) -> bool {
    let kind = key.kind();
    if kind == kind!(PyLong_Type) {
        is_shown(key)
    } else if kind == kind!(PyUnicode_Type) {
        key.characters() <= TEXT_LIMIT
    } else if kind == kind!(PyBytes_Type) {
        key.size() <= TEXT_LIMIT
    } else if kind == kind!(PyTuple_Type) {
        let length = key.tuple_size();
        depth > 0
            && length <= ITEM_LIMIT
            && (0..length).all(|index| key.tuple_item_within(index).is_some_and(|item| is_short(item, depth - 1)))
    } else {
        kind == kind!(PyFloat_Type) || kind == kind!(PyBool_Type) || key.is_none()
    }
}

/// Writes what stands for a value that could not be read.
pub(crate) fn trouble(out: &mut Writer, trouble: Trouble) {
    out.byte(tag::ERROR);
    match (trouble, raised()) {
        (Trouble::Word(word), _) => out.text(word.as_bytes()),
        (Trouble::Raised, Some(kind)) => {
            let kind = kind.held();
            clear();
            object::qualified_name(out, kind.get());
        }
        (Trouble::Raised, None) => out.text(b"Unknown"),
    }
    clear();
}
