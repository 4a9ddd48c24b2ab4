//! A traceback that is complete, unless the lines that follow say that another exception came of it.

use bystander_model::reading::LogLine;

use crate::cause::clip::{KEPT, clip};
use crate::cause::prefix::Prefixed;
use crate::cause::shape::{Shape, shape};
use crate::cause::traceback::{Link, Traceback};

/// Lines of the lane in which the sentence between two exceptions is waited for.
const WAITS: u32 = 64;
/// Lines of a message that are kept beyond its first.
const MORE: usize = 8;

/// A traceback, and what is known of its continuation.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) traceback: Traceback,
    /// How the next traceback follows from this one, once that was said.
    pub(crate) link: Option<Link>,
    prefix: String,
    takes_message: bool,
    age: u32,
}

impl Pending {
    /// Starts waiting; `prefix` is what stood before the line with the exception.
    pub(crate) fn new(traceback: Traceback, prefix: String) -> Self {
        Self { traceback, link: None, prefix, takes_message: true, age: 0 }
    }

    /// Takes the next line of the lane; false when there is nothing left to wait for.
    pub(crate) fn take(&mut self, line: &LogLine<'_>, text: &str, prefixed: &Prefixed<'_>) -> bool {
        self.age += 1;
        match shape(prefixed.rest, line.number) {
            Shape::Link(link) => {
                self.link = Some(link);
                self.takes_message = false;
            }
            Shape::Blank => self.takes_message = false,
            // Logged by another call, or by another process.
            _ if text[..text.len() - prefixed.rest.len()] != self.prefix => self.takes_message = false,
            _ => self.take_message(prefixed.rest),
        }
        self.age < WAITS
    }

    fn take_message(&mut self, rest: &str) {
        let Some(last) = self.traceback.raised.last_mut().filter(|_| self.takes_message) else { return };
        if rest.trim() == "\"\"\"" || last.more.len() == MORE {
            self.takes_message = false;
            return;
        }
        last.more.push(clip(rest.trim_end(), KEPT).to_owned());
    }
}
