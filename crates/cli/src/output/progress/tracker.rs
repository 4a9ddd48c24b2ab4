//! What a run has shown so far of how long things take, and what is left of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use bystander_lab::ledger::Ledger;
use bystander_lab::live::Status;
use bystander_lab::plan::Plan;
use bystander_lab::stats::location::median;
use bystander_model::cell::Cell;
use bystander_model::event::{Event, EventBody, Purpose, Slot, TrialEnd};
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;
use bystander_report::count;

use super::super::text::{clean, clipped, span};
use super::line::{self, Usual};

/// Heartbeats are no wider than this.
const HEARTBEAT_WIDTH: usize = 240;

/// Follows a run.
#[derive(Debug)]
pub(super) struct Tracker {
    cells: Vec<Cell>,
    blocks: (u32, u32),
    running: BTreeMap<TrialId, Running>,
    /// Seconds of earlier launches by cell.
    taken: Vec<Taken>,
    /// Places of the plan that are filled.
    filled: BTreeSet<(u32, u32)>,
    /// Those of them by cell.
    filled_of: Vec<u32>,
}

#[derive(Debug)]
struct Running {
    slot: Slot,
    place: String,
    began: Instant,
}

#[derive(Debug, Clone, Default)]
struct Taken {
    ready: Vec<f64>,
    whole: Vec<f64>,
}

impl Tracker {
    /// Begins with what a run that is taken up has shown before.
    pub(super) fn new(plan: &Plan, resumed: Option<&Ledger>) -> Self {
        let count = plan.cells.len();
        let mut tracker = Self {
            cells: plan.cells.clone(),
            blocks: (plan.blocks.min, plan.blocks.max),
            running: BTreeMap::new(),
            taken: vec![Taken::default(); count],
            filled: BTreeSet::new(),
            filled_of: vec![0; count],
        };
        for trial in resumed.iter().flat_map(|ledger| ledger.trials.values()) {
            if let Some(end) = &trial.end {
                tracker.over(&trial.slot, end, end.wall_s);
            }
        }
        tracker
    }

    /// Takes an event into account; `place` is what its trial is called.
    pub(super) fn learn(&mut self, event: &Event, place: String) {
        let Some(trial) = event.trial else { return };
        match &event.body {
            EventBody::TrialStarted { slot } => {
                self.running.insert(trial, Running { slot: slot.clone(), place, began: Instant::now() });
            }
            EventBody::TrialEnded(end) => {
                if let Some(running) = self.running.remove(&trial) {
                    self.over(&running.slot, end, running.began.elapsed().as_secs_f64());
                }
            }
            _ => {}
        }
    }

    fn over(&mut self, slot: &Slot, end: &TrialEnd, whole: f64) {
        let Some(cell) = self.cells.iter().position(|cell| *cell == slot.cell) else { return };
        if end.outcome.counts() || end.outcome == Outcome::Undetermined {
            self.taken[cell].whole.push(whole);
            self.taken[cell].ready.extend(end.ready_s);
            if slot.purpose == Purpose::Measure && self.filled.insert((slot.block, slot.position)) {
                self.filled_of[cell] += 1;
            }
        }
    }

    fn usual(&self, cell: &Cell) -> Usual {
        let taken = self.cells.iter().position(|known| known == cell).map(|cell| &self.taken[cell]);
        taken.map_or_else(Usual::default, |taken| Usual { ready: median(&taken.ready), whole: median(&taken.whole) })
    }

    /// A running trial in one line of so many columns.
    pub(super) fn line(&self, trial: TrialId, status: &Status, width: usize) -> String {
        let running = self.running.get(&trial);
        let (place, usual) = running.map_or_else(Default::default, |running| (running.place.as_str(), self.usual(&running.slot.cell)));
        let doing = line::doing(status, status.elapsed(), usual);
        line::fit(place, &doing, line::memory(status).as_deref(), status.line.as_deref(), width)
    }

    /// The same for somebody who reads a file, with what is left of the run.
    pub(super) fn heartbeat(&self, trial: TrialId, status: &Status) -> String {
        clipped(&format!("{}; {}", clean(&self.line(trial, status, HEARTBEAT_WIDTH - 60)), self.left(1)), HEARTBEAT_WIDTH)
    }

    /// The whole run in one line.
    pub(super) fn whole(&self, running: &[(TrialId, Status)], width: usize) -> String {
        clipped(&self.left(running.len()), width)
    }

    /// How far the run is, and how long it may last. Nothing is foretold before every cell has been launched once.
    fn left(&self, lanes: usize) -> String {
        let (least, most) = self.blocks;
        let done = self.filled.len();
        if most == u32::MAX {
            return format!("{}, no last block", count(done, "launch", "launches"));
        }
        let all = self.cells.len() * most as usize;
        let of_cell = |(cell, taken): (usize, &Taken)| Some(median(&taken.whole)? * f64::from(most.saturating_sub(self.filled_of[cell])));
        let seconds: Option<f64> = self.taken.iter().enumerate().map(of_cell).sum();
        let gone: f64 = self.running.values().map(|running| running.began.elapsed().as_secs_f64()).sum();
        let Some(seconds) = seconds.filter(|_| done >= self.cells.len()) else {
            return format!("{done} of {}, time left unknown until every cell ran once", number(all, least < most));
        };
        // A launch that takes longer than usual does not take from the others.
        let left = (seconds - gone).max(0.0) / lanes.max(1) as f64;
        let bound = if least < most { "at most " } else { "" };
        format!("{done} of {}, {bound}about {} left", number(all, least < most), span(left))
    }
}

fn number(all: usize, can_stop: bool) -> String {
    let launches = count(all, "launch", "launches");
    if can_stop { format!("up to {launches}") } else { launches }
}
