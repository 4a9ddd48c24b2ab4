//! Events as single lines of progress, without colour: what a log of a run reads like.

use std::collections::{BTreeMap, BTreeSet};

use bystander_model::event::{Event, EventBody, Purpose, RunEnd, Slot, TrialEnd};
use bystander_model::hit::ReceiptState;
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;

use crate::number;
use crate::prose::{clean, count};

/// What the lines need to know beyond the event at hand: the size of the plan, and where each trial stands in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The greatest number of blocks.
    pub blocks: u32,
    /// The number of cells of a block.
    pub cells: u32,
    slots: BTreeMap<TrialId, Slot>,
    launched: BTreeSet<TrialId>,
}

impl Names {
    /// Names for a plan of so many blocks and cells.
    #[must_use]
    pub fn new(blocks: u32, cells: u32) -> Self {
        Self { blocks, cells, ..Self::default() }
    }

    /// Remembers what an event says about where its trial stands; to be told every event, in order.
    pub fn learn(&mut self, event: &Event) {
        match (event.trial, &event.body) {
            (Some(trial), EventBody::TrialStarted { slot }) => {
                self.slots.insert(trial, slot.clone());
            }
            (Some(trial), EventBody::Launched { .. }) => {
                self.launched.insert(trial);
            }
            _ => {}
        }
    }

    /// Forgets a trial, of which nothing more will be said.
    pub fn forget(&mut self, trial: TrialId) {
        self.slots.remove(&trial);
        self.launched.remove(&trial);
    }

    /// Whether a trial is known from its start, and nothing was launched in it.
    fn never_launched(&self, trial: Option<TrialId>) -> bool {
        trial.is_some_and(|trial| self.slots.contains_key(&trial) && !self.launched.contains(&trial))
    }

    /// What a trial is called: `block 1/10  trial 3/6  nccl/print`.
    #[must_use]
    pub fn place(&self, trial: Option<TrialId>) -> String {
        let Some(trial) = trial else { return "run".to_owned() };
        let Some(slot) = self.slots.get(&trial) else { return format!("trial {trial}") };
        let again = if slot.attempt > 1 { format!("  attempt {}", slot.attempt) } else { String::new() };
        let where_to = match slot.purpose {
            // A run without a last block says how far it is, not how far it goes.
            Purpose::Measure if self.blocks == u32::MAX => format!("block {}  trial {}/{}", slot.block, slot.position, self.cells),
            Purpose::Measure => format!("block {}/{}  trial {}/{}", slot.block, self.blocks, slot.position, self.cells),
            Purpose::Gate => "gate".to_owned(),
            Purpose::Clean => "clean baseline".to_owned(),
            Purpose::Confirm => "baseline again".to_owned(),
        };
        format!("{where_to}  {}{again}", clean(&slot.cell.to_string()))
    }
}

/// Says an event in one line; `None` for those that are not worth one, such as hits.
#[must_use]
pub fn event_line(event: &Event, names: &Names) -> Option<String> {
    let said = match &event.body {
        EventBody::RunStarted { seed, .. } => format!("started, order seed {seed}"),
        EventBody::RunResumed => "taken up again".to_owned(),
        EventBody::TrialStarted { .. } => "starting".to_owned(),
        EventBody::Edited(edit) => format!("{} put into {}", clean(&edit.name), clean(&edit.file.to_string_lossy())),
        EventBody::Undone(undone) => {
            let exact = if undone.exact { "byte for byte" } else { "NOT byte for byte as before" };
            format!("{} taken out of {}, {exact} ({})", clean(&undone.name), clean(&undone.file.to_string_lossy()), clean(&undone.how))
        }
        EventBody::Ready { after_s, .. } => format!("ready after {}", number::seconds(*after_s)),
        EventBody::Receipt(receipt) if matches!(receipt.state, ReceiptState::Refused | ReceiptState::Uncovered) => {
            let word = if receipt.state == ReceiptState::Refused { "refused" } else { "not covered" };
            let detail = receipt.detail.as_ref().map_or_else(String::new, |detail| format!(": {}", clean(detail)));
            format!("{} {word} in pid {}{detail}", clean(&receipt.probe), receipt.pid)
        }
        EventBody::TrialEnded(end) => ended(end, names.never_launched(event.trial)),
        EventBody::Restored { files } => {
            let same = files.iter().all(|file| file.metadata_same && file.after_sha256.as_deref() == Some(file.before_sha256.as_str()));
            let verdict = if same { "as before" } else { "compared, NOT all as before" };
            format!("{} {verdict}", count(files.len(), "file", "files"))
        }
        EventBody::Note { text } => clean(text),
        EventBody::OldLog(log) => {
            format!("read {}, {}", clean(&log.name), count(usize::try_from(log.lines).unwrap_or(usize::MAX), "line", "lines"))
        }
        EventBody::RunEnded(end) => finished(end),
        EventBody::Hook(hook) if hook.failure.is_some() => {
            format!("{} failed: {}", clean(&hook.hook), clean(hook.failure.as_deref().unwrap_or_default()))
        }
        EventBody::Launched { .. }
        | EventBody::Hit(_)
        | EventBody::Hook(_)
        | EventBody::Receipt(_)
        | EventBody::Output { .. }
        | EventBody::Watch(_)
        | EventBody::Session(_)
        | EventBody::Concluded { .. } => return None,
    };
    Some(format!("{}  {said}", names.place(event.trial)))
}

fn ended(end: &TrialEnd, never_launched: bool) -> String {
    let outcome = end.outcome.word().replace('_', " ");
    let cause = end.cause.as_ref().filter(|cause| cause.class != end.outcome.word());
    let cause = cause.map_or_else(String::new, |cause| format!("  {}", clean(&cause.class)));
    let after = match end.outcome {
        // What was never begun took no time, and what was broken off says nothing about how long it takes.
        Outcome::Void | Outcome::Undetermined | Outcome::Interrupted if never_launched => " before its launch".to_owned(),
        Outcome::Interrupted if end.wall_s > 0.0 => format!(" after {}", number::seconds(end.wall_s)),
        Outcome::Interrupted => String::new(),
        _ => format!(" in {}", number::seconds(end.wall_s)),
    };
    format!("{outcome}{after}{cause}")
}

fn finished(end: &RunEnd) -> String {
    match end {
        RunEnd::Finished { why } => format!("finished: {}", clean(why)),
        RunEnd::Gated { why } => format!("stopped, the baseline is not as declared: {}", clean(why)),
        RunEnd::Invalid { why } => format!("invalid: {}", clean(why)),
        RunEnd::Interrupted => "interrupted; `bystander run` with its file goes on".to_owned(),
        RunEnd::Abandoned { why } => format!("interrupted: {}; `bystander run` with its file goes on", clean(why)),
        RunEnd::Broken { why } => format!("broken off: {}", clean(why)),
    }
}
