//! What the screen is told of a running trial: its phase, and now and then the last line of its program.

use std::time::Duration;

use bystander_lab::live::{Live, Phase};
use bystander_model::ids::TrialId;

/// As much of a line is kept; the screen shows less.
const SHOWN_BYTES: usize = 400;

/// Tells the screen about one trial. Lines are told once a turn, however many there are.
#[derive(Debug)]
pub(super) struct Telling {
    live: Live,
    trial: TrialId,
    last: String,
    is_new: bool,
}

impl Telling {
    pub(super) fn new(live: &Live, trial: TrialId) -> Self {
        Self { live: live.clone(), trial, last: String::new(), is_new: false }
    }

    /// The program wrote a line.
    pub(super) fn line(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.last.clear();
        let end = (0..=SHOWN_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.last.push_str(&text[..end]);
        self.is_new = true;
    }

    /// A turn is over.
    pub(super) fn turn(&mut self) {
        if std::mem::take(&mut self.is_new) {
            self.live.line(self.trial, &self.last);
        }
    }

    /// What the program holds at this moment, in bytes.
    pub(super) fn memory(&self, rss: Option<u64>, gpu: Option<u64>) {
        self.live.memory(self.trial, rss, gpu);
    }

    /// The trial's processes are asked to end, and have so long for it.
    pub(super) fn stopping(&mut self, grace: Duration) {
        self.turn();
        self.live.stops(self.trial, grace);
    }

    /// The trial is in a phase now.
    pub(super) fn phase(&mut self, phase: Phase) {
        self.turn();
        self.live.phase(self.trial, phase);
    }
}
