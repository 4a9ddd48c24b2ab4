//! A traceback that is being read: its stack so far, the chain before it, and the members of an exception group.

use bystander_model::evidence::Stream;
use bystander_model::ids::TimeNs;
use bystander_model::reading::LogLine;

use super::Announcement;
use super::pending::Pending;
use crate::cause::clip::{KEPT, clip};
use crate::cause::prefix::Prefixed;
use crate::cause::shape::{HEADER, Margin, Shape, margin, shape};
use crate::cause::traceback::{Frame, Link, Raised, Traceback};

/// Entries kept at each end of a stack.
const FRAMES_AT_ENDS: usize = 40;
/// Exceptions kept of one chain or group.
const RAISED: usize = 64;
/// Lines of others that may come between.
const FOREIGN: u32 = 200;
/// Lines between the place of a syntax error and its name, where no header told that one comes.
const FOREIGN_HEADLESS: u32 = 6;

/// What became of a line.
pub(super) enum Fed {
    /// It belongs to the traceback.
    Taken,
    /// It was its last.
    Closed,
    /// It is not of it.
    Foreign,
}

/// How the lines after the header begin.
#[derive(Debug, PartialEq, Eq)]
enum Body {
    /// No line has told yet.
    Unknown,
    /// As Python printed them.
    Bare,
    /// With a prefix that [`Prefixed`] knows.
    Known,
    /// With what stood before the header, numbers aside.
    Like(String),
}

/// The members of an exception group.
#[derive(Debug, Default)]
struct Group {
    depth: u32,
    outer: Vec<Raised>,
    members: Vec<Vec<Raised>>,
}

/// A traceback that is being read.
#[derive(Debug)]
pub(super) struct Open {
    stream: Stream,
    time: TimeNs,
    first_line: u64,
    rank: Option<String>,
    lead: String,
    before: String,
    harmless: bool,
    bare: bool,
    headless: bool,
    pub(super) interleaved: bool,
    body: Body,
    chain: Vec<Raised>,
    siblings: Vec<Raised>,
    frames: Vec<Frame>,
    left_out: u64,
    link: Link,
    group: Option<Group>,
    foreign: u32,
}

impl Open {
    /// A traceback at its header; `before` is what stood before it in the line.
    pub(super) fn new(line: &LogLine<'_>, prefixed: &Prefixed<'_>, before: &str, announced: Option<&Announcement>) -> Self {
        let lead = prefixed.rest.find(HEADER).map_or("", |at| &prefixed.rest[..at]).trim();
        let group = lead.ends_with("Exception Group").then(Group::default);
        let named = announced.and_then(|announced| announced.name.clone());
        Self {
            stream: line.stream,
            time: line.time,
            first_line: line.number,
            rank: named.or_else(|| prefixed.rank().map(str::to_owned)),
            lead: clip(lead, KEPT).to_owned(),
            before: clip(before, KEPT).to_owned(),
            harmless: prefixed.is_mild() || announced.is_some_and(|announced| announced.harmless),
            bare: before.trim_end_matches("+ Exception Group ").trim().is_empty(),
            headless: false,
            interleaved: false,
            body: Body::Unknown,
            chain: Vec::new(),
            siblings: Vec::new(),
            frames: Vec::new(),
            left_out: 0,
            link: Link::Root,
            group,
            foreign: 0,
        }
    }

    /// A script that does not parse: the place stands first.
    pub(super) fn headless(line: &LogLine<'_>, prefixed: &Prefixed<'_>, text: &str, frame: Frame) -> Self {
        let mut open = Self::new(line, prefixed, "", None);
        open.headless = true;
        open.bare = prefixed.rest.len() == text.len();
        open.body = if open.bare { Body::Bare } else { Body::Known };
        open.frames.push(frame);
        open
    }

    /// The next exception of a chain.
    pub(super) fn continued(pending: Pending, line: &LogLine<'_>) -> Self {
        let link = pending.link.unwrap_or(Link::Root);
        let traceback = pending.traceback;
        let lead = line.text.find(HEADER).map_or("", |at| &line.text[..at]);
        Self {
            stream: traceback.stream,
            time: traceback.time,
            first_line: traceback.first_line,
            rank: traceback.rank,
            before: clip(lead, KEPT).to_owned(),
            lead: traceback.lead,
            harmless: traceback.harmless,
            bare: traceback.bare,
            headless: false,
            interleaved: traceback.interleaved,
            body: Body::Unknown,
            chain: traceback.raised,
            siblings: traceback.siblings,
            frames: Vec::new(),
            left_out: 0,
            link,
            group: lead.trim_end().ends_with("Exception Group").then(Group::default),
            foreign: 0,
        }
    }

    /// Whether it is an exception group.
    pub(super) fn is_group(&self) -> bool {
        self.group.is_some()
    }

    /// The stack so far.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The line without its prefix, where it can be of this traceback. The first entry decides how the lines begin.
    pub(super) fn body<'a>(&mut self, text: &'a str, prefixed: &Prefixed<'a>) -> Option<&'a str> {
        let bare = prefixed.rest.len() == text.len();
        match &self.body {
            Body::Bare => bare.then_some(text),
            Body::Known => (!bare).then_some(prefixed.rest),
            Body::Like(before) => after_like(text, before),
            Body::Unknown => {
                let inner = match margin(prefixed.rest) {
                    Some(Margin::Text(inner)) if self.group.is_some() => inner,
                    _ => prefixed.rest,
                };
                if inner.starts_with("  File \"") {
                    self.body = if bare { Body::Bare } else { Body::Known };
                    return Some(prefixed.rest);
                }
                let rest = after_like(text, &self.before).filter(|rest| !self.before.is_empty() && rest.starts_with("  File \""))?;
                self.body = Body::Like(self.before.clone());
                Some(rest)
            }
        }
    }

    /// Adds an entry to the stack; of a very long one the middle is let go.
    pub(super) fn push_frame(&mut self, frame: Frame) {
        if self.frames.len() == 2 * FRAMES_AT_ENDS {
            self.frames.remove(FRAMES_AT_ENDS);
            self.left_out += 1;
        }
        self.frames.push(frame);
    }

    /// Gives the last entry its source line.
    pub(super) fn push_source(&mut self, source: &str) {
        if let Some(frame) = self.frames.last_mut().filter(|frame| frame.source.is_none()) {
            frame.source = Some(clip(source, KEPT).to_owned());
        }
    }

    /// Whether a line with this exception can be the end.
    pub(super) fn accepts(&self, kind: &str) -> bool {
        let syntax = matches!(kind, "SyntaxError" | "IndentationError" | "TabError");
        !self.frames.is_empty() && (syntax || !self.headless)
    }

    /// Takes type and message.
    pub(super) fn raise(&mut self, kind: &str, message: &str, at: u64) {
        let raised = Raised {
            kind: clip(kind, KEPT).to_owned(),
            message: clip(message, KEPT).to_owned(),
            more: Vec::new(),
            frames: std::mem::take(&mut self.frames),
            frames_left_out: std::mem::take(&mut self.left_out),
            at,
            link: std::mem::replace(&mut self.link, Link::Root),
        };
        if self.chain.len() < RAISED {
            self.chain.push(raised);
        }
    }

    /// Counts a line of somebody else; true when there were too many.
    pub(super) fn is_given_up(&mut self) -> bool {
        self.foreign += 1;
        self.foreign > if self.headless { FOREIGN_HEADLESS } else { FOREIGN }
    }

    /// Gives a line to an exception group.
    pub(super) fn feed_group(&mut self, body: &str, at: u64) -> Fed {
        let Some(margin) = margin(body) else { return Fed::Foreign };
        if let Margin::Text(text) = margin {
            self.feed_member(text, at);
            return Fed::Taken;
        }
        let chain = std::mem::take(&mut self.chain);
        let Some(group) = &mut self.group else { return Fed::Foreign };
        if margin == Margin::Deeper && group.depth == 0 {
            group.outer = chain;
        } else if !chain.is_empty() && group.members.len() < RAISED {
            group.members.push(chain);
        }
        match margin {
            Margin::Deeper => group.depth += 1,
            Margin::End => group.depth = group.depth.saturating_sub(1),
            Margin::Next | Margin::Text(_) => {}
        }
        if margin == Margin::End && group.depth == 0 { Fed::Closed } else { Fed::Taken }
    }

    fn feed_member(&mut self, text: &str, at: u64) {
        if text.contains(HEADER) {
            self.frames.clear();
            return;
        }
        match shape(text, at) {
            Shape::Frame(frame) => self.push_frame(frame),
            Shape::Source(source) => self.push_source(source),
            // A member that was never raised has no stack; a second one without stack is a further line of the message.
            Shape::Raised { kind, message } if !self.frames.is_empty() || self.chain.is_empty() => self.raise(kind, message, at),
            Shape::Link(link) => self.link = link,
            _ => {}
        }
    }

    /// The traceback, now that its last line was seen.
    pub(super) fn finish(mut self, end_line: u64) -> Option<Traceback> {
        if let Some(group) = self.group.take() {
            self.settle_group(group);
        }
        let complete = self.chain.last().is_some_and(|last| !last.kind.is_empty());
        (!self.chain.is_empty()).then_some(Traceback {
            stream: self.stream,
            time: self.time,
            first_line: self.first_line,
            end_line,
            rank: self.rank,
            lead: self.lead,
            raised: self.chain,
            siblings: self.siblings,
            interleaved: self.interleaved,
            harmless: self.harmless,
            bare: self.bare,
            complete,
        })
    }

    /// The first member that is no group itself is the root; the group is what came of it.
    fn settle_group(&mut self, group: Group) {
        let mut members = group.members;
        if !self.chain.is_empty() {
            members.push(std::mem::take(&mut self.chain));
        }
        let is_group = |chain: &Vec<Raised>| chain.last().is_some_and(|last| last.short_kind().ends_with("ExceptionGroup"));
        let root = members.iter().position(|chain| !is_group(chain)).unwrap_or(0);
        if root < members.len() {
            self.chain = members.remove(root);
        }
        let has_member = !self.chain.is_empty();
        let last = group.outer.len().saturating_sub(1);
        for (at, mut raised) in group.outer.into_iter().enumerate() {
            if at == last && has_member {
                raised.link = Link::Group;
            }
            self.chain.push(raised);
        }
        self.siblings.extend(members.into_iter().flatten().take(RAISED));
    }

    /// The traceback as far as it came; nothing where not even one entry did.
    pub(super) fn cut_off(mut self) -> Option<Traceback> {
        if self.headless {
            return None;
        }
        let at = self.frames.last().map_or(self.first_line, |frame| frame.at);
        if !self.frames.is_empty() {
            self.raise("", "", at);
        }
        self.finish(at)
    }
}

/// What follows a prefix that differs from `pattern` in nothing but its numbers.
fn after_like<'a>(text: &'a str, pattern: &str) -> Option<&'a str> {
    let (text_bytes, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut i, mut j) = (0, 0);
    let digits = |bytes: &[u8], from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    while j < pattern.len() {
        let (ours, theirs) = (digits(text_bytes, i), digits(pattern, j));
        if theirs > 0 {
            if ours == 0 {
                return None;
            }
            i += ours;
            j += theirs;
        } else if text_bytes.get(i) == Some(&pattern[j]) {
            i += 1;
            j += 1;
        } else {
            return None;
        }
    }
    text.get(i..)
}
