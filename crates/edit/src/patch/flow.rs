//! Refuses an insertion that the syntax allows and that would not mean what was asked for.

use std::ops::Range;

use super::{Change, Source};
use crate::lines::line_of;
use crate::pattern::{Body, Place, Tree};

/// What is wrong with an insertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// It goes beside the only statement of a body without braces: only one of both would belong to the body.
    #[error("line {line} is the body of an `{of}` without braces, and a statement beside it changes what the `{of}` is for")]
    Unbraced {
        /// The line of the body, from 1.
        line: u32,
        /// The statement that it is the body of.
        of: &'static str,
    },
    /// It goes behind a statement that control does not come back from.
    #[error("what comes behind the `{after}` on line {line} never runs")]
    NeverRuns {
        /// The line of what was found, from 1.
        line: u32,
        /// The statement before it.
        after: &'static str,
    },
    /// The block stands on the line of its head, where only simple statements have room.
    #[error("the block on line {line} begins on the line of its head, and the text has no room there, as it is more than one line")]
    OneLineBlock {
        /// The line, from 1.
        line: u32,
    },
}

/// Says why an insertion is refused, if it is.
pub(super) fn refused(source: &Source<'_>, place: &Place, put: &Change) -> Option<FlowError> {
    let language = source.language?;
    let found = trimmed(source.bytes, &place.range);
    let was = Tree::parse(language, source.bytes)?;
    let line = line_of(source.bytes, found.start);
    let is_line = !put.text.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    // What begins at the block's place is in it, or before its head.
    if was.in_block_on_head_line(&found) && put.at.start >= found.end && !is_line {
        return Some(FlowError::OneLineBlock { line });
    }
    let made = put.made(source.bytes);
    let is = Tree::parse(language, &made)?;
    if let Some(body) = was.unbraced_body(&found)
        && !keeps(&body, put, &is)
    {
        return Some(FlowError::Unbraced { line: line_of(source.bytes, body.range.start), of: body.of() });
    }
    let joins = put.text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b';').count();
    let after = (joins < put.text.len()).then(|| is.jump_before(put.at.start + joins)).flatten()?;
    Some(FlowError::NeverRuns { line, after })
}

/// Whether a body without braces is still the body, alone or as one statement with what was put in.
fn keeps(body: &Body, put: &Change, made: &Tree<'_>) -> bool {
    let (at, length) = (put.at.start, put.text.len());
    if at <= body.head {
        return !body.within;
    }
    let Some(part) = made.part_like(body, body.head) else { return false };
    let covers = part.start <= at.min(body.range.start) && part.end >= body.range.end.max(at) + put.text.trim_ascii_end().len();
    if at <= body.range.start {
        return covers || part == (body.range.start + length..body.range.end + length);
    }
    covers || (at >= body.range.end && !body.within)
}

/// A range without the blanks at its ends.
pub(super) fn trimmed(bytes: &[u8], range: &Range<usize>) -> Range<usize> {
    let found = &bytes[range.clone()];
    let start = range.start + (found.len() - found.trim_ascii_start().len());
    start..start + found.trim_ascii().len()
}
