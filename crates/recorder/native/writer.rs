//! Writing a payload into the ring: a cursor that never passes its end and remembers that it would have.
//!
//! The tags are those of `crates/probe/src/ring/stream.rs`, which reads them.

/// What a value is.
pub(crate) mod tag {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    pub(crate) const INT: u8 = 3;
    pub(crate) const FLOAT: u8 = 4;
    pub(crate) const TEXT: u8 = 5;
    /// An int beyond 64 bits, as decimal text.
    pub(crate) const BIG: u8 = 6;
    /// Fields until [`END`].
    pub(crate) const OBJECT: u8 = 7;
    /// The containers: length, then flags, then items or entries until [`END`] where there are any.
    pub(crate) const TUPLE: u8 = 8;
    pub(crate) const LIST: u8 = 9;
    pub(crate) const DICT: u8 = 10;
    pub(crate) const SET: u8 = 11;
    pub(crate) const FROZEN_SET: u8 = 12;
    /// Length, a byte that counts what is kept, and that.
    pub(crate) const BYTES: u8 = 13;
    pub(crate) const BYTE_ARRAY: u8 = 14;
    /// A str that was cut: its length, its first characters.
    pub(crate) const CUT_TEXT: u8 = 15;
    pub(crate) const REDACTED: u8 = 16;
    /// A word of an error.
    pub(crate) const ERROR: u8 = 17;
    /// A value that did not fit its share of the record.
    pub(crate) const TOO_LARGE: u8 = 18;
    pub(crate) const END: u8 = 255;
}

/// The fields of an object.
pub(crate) mod field {
    pub(crate) const MODULE: u8 = 1;
    pub(crate) const TYPE: u8 = 2;
    pub(crate) const TEXT: u8 = 4;
    pub(crate) const SHAPE: u8 = 5;
    pub(crate) const DTYPE: u8 = 6;
    pub(crate) const DEVICE: u8 = 7;
    pub(crate) const TRUNCATED: u8 = 8;
    /// How many bits an int has that is too long to show.
    pub(crate) const BITS: u8 = 9;
}

/// The flags of a container.
pub(crate) const HAS_ITEMS: u8 = 1;
pub(crate) const TRUNCATED: u8 = 2;

/// A place in the ring.
pub(crate) struct Writer {
    at: *mut u8,
    end: *mut u8,
    full: bool,
}

impl Writer {
    /// Writes from an address up to another.
    ///
    /// # Safety
    /// The bytes between them are mapped, and nobody else touches them while the writer is there.
    pub(crate) unsafe fn new(at: *mut u8, end: *mut u8) -> Self {
        Self { at, end, full: false }
    }

    /// Tells whether something did not fit.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Where the next byte goes.
    pub(crate) fn position(&self) -> *mut u8 {
        self.at
    }

    /// Goes back to an earlier position; what was written behind it is forgotten.
    pub(crate) fn rewind(&mut self, at: *mut u8) {
        self.at = at;
        self.full = false;
    }

    /// Where it must stop.
    pub(crate) fn end(&self) -> *mut u8 {
        self.end
    }

    /// Another end for what follows.
    pub(crate) fn set_end(&mut self, end: *mut u8) {
        self.end = end;
    }

    fn room(&mut self, bytes: usize) -> Option<*mut u8> {
        if (self.end as usize).wrapping_sub(self.at as usize) < bytes || self.at > self.end || self.full {
            self.full = true;
            return None;
        }
        let here = self.at;
        self.at = here.wrapping_add(bytes);
        Some(here)
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        if let Some(at) = self.room(1) {
            // SAFETY: there is room.
            unsafe { at.write(byte) };
        }
    }

    pub(crate) fn word(&mut self, word: u64) {
        if let Some(at) = self.room(8) {
            // SAFETY: there is room.
            unsafe { at.cast::<u64>().write_unaligned(word) };
        }
    }

    /// A tag and eight bytes, in one step.
    pub(crate) fn tagged(&mut self, tag: u8, word: u64) {
        if let Some(at) = self.room(9) {
            // SAFETY: there is room.
            unsafe {
                at.write(tag);
                at.add(1).cast::<u64>().write_unaligned(word);
            }
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if let Some(at) = self.room(bytes.len()) {
            // SAFETY: there is room, and the ring does not overlap what is written to it.
            unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len()) };
        }
    }

    /// Text with the number of its bytes before it.
    pub(crate) fn text(&mut self, text: &[u8]) {
        self.length(text.len());
        self.bytes(text);
    }

    /// A count of bytes that follow.
    pub(crate) fn length(&mut self, length: usize) {
        self.bytes(&(length as u32).to_ne_bytes());
    }

    /// Writes a count of bytes at an earlier position, where room was left for it by [`Writer::length`].
    pub(crate) fn settle(&mut self, at: *mut u8) {
        let length = (self.at as usize).wrapping_sub(at as usize).wrapping_sub(4);
        if !self.full {
            // SAFETY: four bytes at `at` were written by this writer.
            unsafe { at.cast::<u32>().write_unaligned(length as u32) };
        }
    }

    /// Changes a byte that was written before.
    pub(crate) fn replace(&mut self, at: *mut u8, byte: u8) {
        if !self.full {
            // SAFETY: the byte at `at` was written by this writer.
            unsafe { at.write(byte) };
        }
    }

    /// Writes code points that are all ASCII, the number of bytes before them; false where one is not, and nothing is written.
    pub(crate) fn ascii(&mut self, codes: &[u32]) -> bool {
        if codes.iter().fold(0, |all, &code| all | code) >= 0x80 {
            return false;
        }
        self.length(codes.len());
        if let Some(at) = self.room(codes.len()) {
            for (index, &code) in codes.iter().enumerate() {
                // SAFETY: there is room for as many bytes.
                unsafe { at.add(index).write(code as u8) };
            }
        }
        true
    }

    /// One code point as UTF-8; halves of surrogate pairs become three bytes, as CPython itself stores them.
    pub(crate) fn character(&mut self, code: u32) {
        let part = |shift: u32, mask: u32, mark: u32| ((code >> shift & mask) | mark) as u8;
        match code {
            0..0x80 => self.byte(code as u8),
            0x80..0x800 => self.bytes(&[part(6, 0x1f, 0xc0), part(0, 0x3f, 0x80)]),
            0x800..0x1_0000 => self.bytes(&[part(12, 0x0f, 0xe0), part(6, 0x3f, 0x80), part(0, 0x3f, 0x80)]),
            _ => self.bytes(&[part(18, 0x07, 0xf0), part(12, 0x3f, 0x80), part(6, 0x3f, 0x80), part(0, 0x3f, 0x80)]),
        }
    }

    /// What was written between a position and here; empty where it did not fit.
    pub(crate) fn since(&self, at: *mut u8) -> &[u8] {
        let length = (self.at as usize).wrapping_sub(at as usize);
        if self.full {
            &[]
        } else {
            // SAFETY: this writer wrote the bytes.
            unsafe { core::slice::from_raw_parts(at, length) }
        }
    }
}
