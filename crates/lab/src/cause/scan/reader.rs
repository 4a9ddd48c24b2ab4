//! One stream of a log: the lanes of its processes, and its last lines.

use std::collections::VecDeque;

use bystander_model::evidence::Stream;
use bystander_model::reading::LogLine;

use crate::cause::assemble::Lane;
use crate::cause::clip::{KEPT, clip};
use crate::cause::kept::KeptLine;

/// Last lines kept of each stream.
pub(super) const LAST: usize = 20;
/// Processes that are told apart by the prefixes of their lines.
const LANES: usize = 256;

/// One stream's part of the work.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stream: Stream,
    pub(super) lanes: Vec<(String, Lane)>,
    pub(super) last: VecDeque<KeptLine>,
}

impl Reader {
    pub(super) fn is_awake(&self) -> bool {
        self.lanes.iter().any(|(_, lane)| lane.is_awake())
    }

    /// The lane of a process; when there are too many, the first one takes the rest.
    pub(super) fn lane(&mut self, process: Option<&str>) -> &mut Lane {
        let name = process.unwrap_or("");
        let at = self.lanes.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            if self.lanes.len() == LANES {
                return 0;
            }
            self.lanes.push((name.to_owned(), Lane::default()));
            self.lanes.len() - 1
        });
        &mut self.lanes[at].1
    }

    /// Remembers a line as the latest, and uses the oldest one's memory again.
    pub(super) fn remember(&mut self, line: &LogLine<'_>, text: &str) {
        let mut kept = if self.last.len() == LAST { self.last.pop_front() } else { None }.unwrap_or(KeptLine {
            stream: line.stream,
            number: 0,
            time: line.time,
            text: String::new(),
        });
        kept.number = line.number;
        kept.time = line.time;
        kept.text.clear();
        kept.text.push_str(clip(text.trim_end(), KEPT));
        self.last.push_back(kept);
    }
}
