//! What would decide what is open: the least invasive step first, with what it costs.
//!
//! A log that is there already comes before a change of the file, that before a launch with nothing put in, that before launches of every cell, a probe
//! before an edit.

use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::evidence::EvidenceKind;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Alternatives, Answer, Means, NextStep, Verdict};

use super::plan::blocks_done;
use crate::ledger::Ledger;
use crate::plan::Stop;
use crate::verdict::settling::launch_of;

/// The steps of all answers, those that take the least first.
pub(super) fn steps(ledger: &Ledger, answers: &[Answer], alternatives: &[(Alternatives, Vec<&Cell>)]) -> Vec<NextStep> {
    let mut steps = Steps { ledger, found: Vec::new(), replicates: Vec::new() };
    for answer in answers.iter().filter(|answer| asks_for_more(answer)) {
        steps.of_answer(answer);
    }
    for (alternatives, cells) in alternatives {
        steps.of_alternatives(alternatives, cells);
    }
    steps.of_broken_baseline(answers);
    steps.say_what_is_shared();
    let mut found = steps.found;
    found.sort_by_key(|step| step.means);
    found
}

/// Whether a step is named for an answer: of metrics only where one was asked about and is open.
fn asks_for_more(answer: &Answer) -> bool {
    let is_lead = answer.exploratory && answer.verdict == Verdict::Effect;
    answer.metric == "outcome" || is_lead || matches!(answer.verdict, Verdict::Insufficient | Verdict::Invalid)
}

struct Steps<'a> {
    ledger: &'a Ledger,
    found: Vec<NextStep>,
    /// Which of them are more launches of every cell.
    replicates: Vec<Replicates>,
}

/// A step that is more launches of every cell.
struct Replicates {
    /// Its place among the steps.
    at: usize,
    /// Launches of each cell in all.
    per_cell: u32,
    /// Whether a claim needs the same launches.
    shared: bool,
}

impl Steps<'_> {
    fn of_answer(&mut self, answer: &Answer) {
        let Some(needs) = &answer.needs else { return };
        let about = if answer.metric == "outcome" { answer.about.clone() } else { format!("{} on {}", answer.about, answer.metric) };
        let lacks_a_launch = needs.missing.iter().any(|missing| missing.starts_with("a launch of"));
        if answer.verdict == Verdict::Open && lacks_a_launch && self.ledger.old_logs.is_empty() {
            let text = "a log of such a launch, if one lies there already: `[[evidence]] log = \"FILE\"` reads it, and it can speak against the claim where its configuration is the cell's";
            self.push(&about, Means::OldLog, Some(0), text.to_owned());
        }
        for (means, missing) in needs.means.iter().zip(&needs.missing) {
            let replicated = needs.launches_per_cell.filter(|_| *means == Means::Launches);
            if replicated.is_some_and(|per_cell| answer.about.starts_with("hypothesis:") && self.shares(&about, per_cell)) {
                continue;
            }
            let (launches, text) = match (means, needs.launches_per_cell, &needs.rule) {
                (Means::OldLog | Means::File, ..) => (Some(0), missing.clone()),
                (Means::Launches, Some(per_cell), Some(rule)) => {
                    (Some(self.more(per_cell)), format!("{missing}, {per_cell} launches per cell in all: {rule}"))
                }
                (Means::Launches, Some(per_cell), None) => {
                    (Some(self.more(per_cell)), format!("{missing}, {per_cell} launches per cell in all"))
                }
                (Means::Launches, None, Some(rule)) => (None, format!("{missing}: {rule}")),
                (Means::Launches, None, None) => (Some(self.cells()), missing.clone()),
                (Means::Edit, Some(per_cell), _) => (Some(per_cell.saturating_mul(self.cells())), missing.clone()),
                _ if missing.starts_with("a launch of") => (Some(1), missing.clone()),
                _ => (None, missing.clone()),
            };
            let known = self.found.len();
            self.push(&about, *means, launches, text);
            if let Some(per_cell) = replicated.filter(|_| self.found.len() > known) {
                self.replicates.push(Replicates { at: known, per_cell, shared: false });
            }
        }
    }

    /// Whether the launches that a claim needs are those of a step that is known: then it is decided by that.
    fn shares(&mut self, about: &str, per_cell: u32) -> bool {
        let Some(known) = self.replicates.iter_mut().find(|known| known.per_cell == per_cell) else { return false };
        known.shared = true;
        self.found[known.at].about.push(about.to_owned());
        true
    }

    /// Says of launches that are named once that they decide more than one thing.
    fn say_what_is_shared(&mut self) {
        for Replicates { at, .. } in self.replicates.iter().filter(|known| known.shared) {
            let step = &mut self.found[*at];
            let all = if step.about.len() == 2 { "both" } else { "all of them" };
            step.text.push_str(&format!("; these launches decide {all}"));
        }
    }

    fn of_alternatives(&mut self, alternatives: &Alternatives, cells: &[&Cell]) {
        for cell in cells {
            let (means, launch) = launch_of(&self.ledger.plan, cell);
            let text = format!("{launch}, of which they predict different things");
            for claim in &alternatives.claims {
                self.push(&format!("hypothesis:{claim}"), means, Some(1), text.clone());
            }
        }
    }

    /// Where the baseline fails by itself: what can be seen at the place where it fails, without changing it; and what runs the rest all the same.
    fn of_broken_baseline(&mut self, answers: &[Answer]) {
        let broken: Vec<&Answer> = answers.iter().filter(|answer| answer.verdict == Verdict::BaselineBroken).collect();
        let Some(first) = broken.first() else { return };
        let place = self.ledger.plan.probes.is_empty().then(|| self.failing_place()).flatten();
        if let Some(place) = place {
            self.push(
                &first.about,
                Means::Probe,
                Some(1),
                format!("a probe where it fails: `at = \"{place}\"` in [[probes]], with the values to capture"),
            );
        }
        let plan = &self.ledger.plan;
        let after_one_block =
            plan.blocks.max > 1 && self.ledger.end.is_some() && self.ledger.trials.values().all(|trial| trial.slot.block <= 1);
        if plan.stop == Stop::Same && after_one_block {
            let launches = (!plan.blocks.is_open()).then(|| plan.blocks.max.saturating_sub(1).saturating_mul(self.cells()));
            // It costs launches and decides nothing, so it comes last whatever it takes.
            self.push("", Means::Edit, launches, "`stop = \"all\"` in [plan] runs every block all the same".to_owned());
        }
    }

    /// `FILE:LINE` of the innermost frame of the program in the first failure of the baseline.
    fn failing_place(&self) -> Option<String> {
        let mut failures = self.ledger.data(&self.ledger.plan.baseline).filter_map(|trial| trial.end.as_ref()?.cause.as_ref());
        let frames = failures
            .find_map(|cause| cause.evidence.iter().find(|one| one.kind == EvidenceKind::Log && one.text.starts_with("File \"")))?;
        let rest = frames.text.strip_prefix("File \"")?;
        let (file, rest) = rest.split_once("\", line ")?;
        let line: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!line.is_empty() && !file.starts_with('<')).then(|| format!("{file}:{line}"))
    }

    fn cells(&self) -> u32 {
        u32::try_from(self.ledger.plan.cells.len()).unwrap_or(u32::MAX)
    }

    /// Launches of all cells that are missing to so many of each.
    fn more(&self, per_cell: u32) -> u32 {
        per_cell.saturating_sub(blocks_done(self.ledger)).saturating_mul(self.cells())
    }

    /// Takes a step; one that other answers need too is one step.
    fn push(&mut self, about: &str, means: Means, launches: Option<u32>, text: String) {
        let about: Vec<String> = Some(about).filter(|about| !about.is_empty()).map(str::to_owned).into_iter().collect();
        if let Some(known) = self.found.iter_mut().find(|step| step.means == means && step.text == text) {
            known.about.extend(about.into_iter().filter(|one| !known.about.contains(one)).collect::<Vec<_>>());
            return;
        }
        let seconds = launches.and_then(|launches| self.seconds_of(launches));
        self.found.push(NextStep { about, means, launches, seconds, text });
    }

    /// What so many launches take, by the mean of those that came to their end: one that was interrupted or void says nothing of how long one takes.
    fn seconds_of(&self, launches: u32) -> Option<f64> {
        let whole = |end: &&TrialEnd| !matches!(end.outcome, Outcome::Interrupted | Outcome::Void);
        let ends = self.ledger.trials.values().filter_map(|trial| trial.end.as_deref()).filter(whole);
        let took: Vec<f64> = ends.map(|end| end.wall_s).filter(|s| *s > 0.0).collect();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        (!took.is_empty()).then(|| mean * f64::from(launches) / f64::from(self.ledger.plan.lane_count()))
    }
}
