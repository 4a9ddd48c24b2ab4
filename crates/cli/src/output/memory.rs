//! Memory while it is watched: lines that are drawn again and again on a terminal, a line now and then elsewhere, and the words of the command above them.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bystander_report::{Style, memory_live, memory_pulse};
use bystander_supervise::memory_watch::MemoryWatch;
use indicatif::{MultiProgress, ProgressBar};

use super::progress::{can_draw, columns, plain_bar};

/// On a terminal the lines are drawn this often.
const TICK: Duration = Duration::from_millis(250);
/// Without one, somebody who reads along hears this often.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What is shown while it goes on.
pub(crate) struct MemoryLive {
    lines: Option<MultiProgress>,
    bars: Vec<ProgressBar>,
    due: Instant,
    /// The words of the command must not mix with what is drawn.
    turn: Arc<Mutex<()>>,
}

impl MemoryLive {
    pub(super) fn new() -> Self {
        let lines = can_draw().then(MultiProgress::new);
        let first = if lines.is_some() { TICK } else { HEARTBEAT };
        Self { lines, bars: Vec::new(), due: Instant::now() + first, turn: Arc::default() }
    }

    /// The way of the words of a command to standard error.
    pub(crate) fn words(&self) -> ProgramWords {
        ProgramWords { lines: self.lines.clone(), open: Vec::new(), turn: Arc::clone(&self.turn) }
    }

    /// Shows what is held, if it is time to.
    pub(crate) fn show(&mut self, watch: &MemoryWatch) {
        if Instant::now() < self.due {
            return;
        }
        let (samples, now_s, phase) = (watch.so_far(), watch.elapsed_s(), watch.course().now());
        let Some(lines) = &self.lines else {
            self.due = Instant::now() + HEARTBEAT;
            return super::talk(&memory_pulse(&samples, now_s, phase.as_deref()));
        };
        self.due = Instant::now() + TICK;
        // A terminal wraps when its last column is written, and the bar itself is indented.
        let style = Style { width: columns().saturating_sub(4), ..Style::default() };
        let texts = memory_live(&samples, now_s, phase.as_deref(), &style);
        while self.bars.len() < texts.len() {
            self.bars.push(lines.add(plain_bar()));
        }
        for (bar, text) in self.bars.iter().zip(texts) {
            bar.set_message(text);
            bar.tick();
        }
    }

    /// Takes away what was drawn.
    pub(crate) fn end(self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// The way of one stream of a command to standard error.
pub(crate) struct ProgramWords {
    lines: Option<MultiProgress>,
    /// A line that has not ended; above what is drawn only whole lines can stand.
    open: Vec<u8>,
    turn: Arc<Mutex<()>>,
}

/// A line that does not end is passed on in parts.
const LONGEST: usize = 64 << 10;

impl ProgramWords {
    /// Passes bytes on.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = &self.lines else { return pass_on(bytes) };
        self.open.extend_from_slice(bytes);
        let whole = match self.open.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if self.open.len() > LONGEST => self.open.len(),
            None => return,
        };
        let text: Vec<u8> = self.open.drain(..whole).collect();
        lines.suspend(|| pass_on(&text));
    }

    /// Passes on what is left of a line that never ended.
    pub(crate) fn end(self) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(lines), false) = (&self.lines, self.open.is_empty()) {
            let mut text = self.open;
            text.push(b'\n');
            lines.suspend(|| pass_on(&text));
        }
    }
}

/// A reader that went away is no error: the command goes on, and so does the watch.
fn pass_on(bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(bytes).and_then(|()| stderr.flush());
}
