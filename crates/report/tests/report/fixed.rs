//! A report like that of the mended experiment: everything starts, and the effects are on metrics.

use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Answer, CellReport, Means, Needs, Report, Strength, TrialReport, Verdict};
use indexmap::IndexMap;

use crate::fixture::{cell, empty, formula, levels, log, metric, step, trial};

const CELLS: [(&str, &str); 4] = [("nccl", "none"), ("nccl", "kv-budget"), ("custom", "none"), ("custom", "kv-budget")];
const DIFFERENCE: &str = "mean difference within blocks, 95 % (t)";
const RATIO: &str = "geometric mean of ratios within blocks, 95 % (t on logarithms)";

pub(crate) fn report() -> Report {
    let mut report = empty();
    report.run = "fixed-20261129-151500-00a1".to_owned();
    report.question = Some("What does the custom all-reduce cost and gain on a server that starts?".to_owned());
    report.status = "finished".to_owned();
    report.why = Some("every planned block was run".to_owned());
    (report.plan.blocks, report.plan.blocks_done, report.plan.cells, report.plan.launches) = (Some(5), 5, 4, Some(20));
    report.cells = CELLS.iter().map(|(level, instrument)| ready_cell(level, instrument)).collect();
    report.answers = answers();
    report.trials = (0..20).map(ready_trial).collect();
    for path in report.trials.iter_mut().flat_map(|trial| trial.output.values_mut()) {
        *path = path.to_string_lossy().replace("story-20261129-140501-9f3c", &report.run).into();
    }
    report.next = vec![step("instrument:kv-budget", Means::Launches, Some(96), "more blocks, 29 launches per cell in all")];
    report
}

fn values(level: &str, shift: f64) -> ([f64; 5], [f64; 5]) {
    if level == "nccl" {
        ([152_797.0; 5], [9.61, 9.72, 9.58, 9.66, 9.70].map(|ms| ms + shift))
    } else {
        ([149_806.0; 5], [7.02, 7.11, 6.98, 7.05, 7.07].map(|ms| ms + shift))
    }
}

fn ready_cell(level: &str, instrument: &str) -> CellReport {
    let (tokens, tpot) = values(level, if instrument == "none" { 0.0 } else { 0.004 });
    let mut cell = cell(level, instrument);
    (cell.trials, cell.completed) = (5, 5);
    cell.metrics = IndexMap::from([("kv_tokens".to_owned(), metric(&tokens)), ("tpot_ms".to_owned(), metric(&tpot))]);
    cell
}

fn ready_trial(index: u32) -> TrialReport {
    let (block, position) = (index / 4, index as usize % 4);
    let (level, instrument) = CELLS[position];
    let (tokens, tpot) = values(level, 0.0);
    let mut trial = trial(index + 1, block + 1, level, instrument);
    trial.levels = levels(level);
    trial.outcome = Some(Outcome::Completed);
    trial.evidence = vec![log(index + 1, 30, "The server is fired up and ready to roll!")];
    (trial.ready_s, trial.wall_s) = (Some(1.62), Some(7.9));
    let values = [("kv_tokens", tokens[block as usize]), ("tpot_ms", tpot[block as usize])];
    trial.metrics = values.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect();
    trial
}

fn answers() -> Vec<Answer> {
    let bound = formula("1 - 0.05^(1/n)", "no failure in 5: a failure rate up to 0.451 is not excluded (95 %)");
    let outcome = |about: &str, verdict, text: &str| Answer {
        evidence: vec![bound.clone()],
        needs: Some(Needs { launches_per_cell: Some(29), ..Needs::default() }),
        strength: (verdict != Verdict::Insufficient).then_some(Strength::Consistent),
        ..answer(about, "outcome", verdict, Strength::Shown, text)
    };
    vec![
        outcome(
            "factor:allreduce",
            Verdict::Insufficient,
            "No failure in 5 launches of custom/none nor of nccl/none. A failure rate up to 45 % is not excluded.",
        ),
        measured(
            "factor:allreduce",
            "kv_tokens",
            Verdict::Effect,
            "An effect: \u{2212}2991 tokens, identical in 5 launches.",
            -2991.0,
            None,
        ),
        measured(
            "factor:allreduce",
            "tpot_ms",
            Verdict::Effect,
            "An effect: \u{2212}27.0 % [\u{2212}27.4 % to \u{2212}26.6 %] in 5 launches per cell.",
            0.730_1,
            Some([0.726, 0.734]),
        ),
        outcome(
            "instrument:kv-budget",
            Verdict::NoEffectSeen,
            "No perturbation seen: no failure in 5 launches with it and 5 launches without it. A failure rate up to 45 % is not excluded.",
        ),
        measured("instrument:kv-budget", "kv_tokens", Verdict::Inert, "Inert within 100 tokens: identical in 5 launches.", 0.0, None),
        measured(
            "instrument:kv-budget",
            "tpot_ms",
            Verdict::Inert,
            "Inert within 2 %: +0.0 % [\u{2212}0.1 % to +0.2 %] in 5 launches per cell.",
            1.000_4,
            Some([0.999, 1.002]),
        ),
    ]
}

fn measured(about: &str, name: &str, verdict: Verdict, text: &str, estimate: f64, interval: Option<[f64; 2]>) -> Answer {
    let of = if name == "kv_tokens" { DIFFERENCE } else { RATIO };
    Answer {
        estimate: Some(estimate),
        interval,
        interval_of: Some(of.to_owned()),
        p: interval.map(|_| 0.000_012),
        evidence: vec![log(1, 28, "max_total_num_tokens=152797"), log(3, 28, "max_total_num_tokens=149806")],
        ..answer(about, name, verdict, Strength::Shown, text)
    }
}

fn answer(about: &str, metric: &str, verdict: Verdict, strength: Strength, text: &str) -> Answer {
    Answer { strength: Some(strength), text: text.to_owned(), ..Answer::new(about.to_owned(), metric, verdict) }
}

/// The same run, broken off after its first two launches, with what a run can go wrong in.
pub(crate) fn broken_off() -> Report {
    let mut report = report();
    report.status = "broken".to_owned();
    report.why = Some("the disk is full".to_owned());
    report.plan.blocks_done = 0;
    report.trials.truncate(2);
    report.trials[1].outcome = Some(Outcome::Void);
    for cell in &mut report.cells {
        (cell.trials, cell.completed, cell.metrics) = (0, 0, IndexMap::new());
    }
    (report.cells[0].trials, report.cells[0].completed, report.cells[1].void) = (1, 1, 1);
    report.answers.clear();
    report.differences = vec!["custom/none: PYTHONHASHSEED is 0, in the baseline it is not set".to_owned()];
    report.restored.files = 3;
    report.restored.exact = Some(false);
    report.restored.clean_trial = None;
    report.restored.proofs = vec![
        proof("/srv/engine/a.py", Some("aaaa0000aaaa0000"), true, 0),
        proof("/srv/engine/sizing.py", Some("bbbb1111bbbb1111"), true, 1),
        proof("/srv/engine/gone.py", None, true, 1),
        proof("/srv/engine/mode.py", Some("aaaa0000aaaa0000"), false, 1),
    ];
    report.restored.made = report.restored.proofs.iter().map(|proof| proof.edits).sum();
    report.restored.undone = report.restored.made;
    report.notes = vec!["trial 2 is void: process 77 (nvidia-smi) held 3 GiB before the start".to_owned()];
    report.trials[1].id = TrialId(2);
    report
}

fn proof(file: &str, after: Option<&str>, metadata_same: bool, edits: u32) -> bystander_model::report::RestoredFile {
    let after_sha256 = after.map(str::to_owned);
    bystander_model::report::RestoredFile {
        file: file.into(),
        before_sha256: "aaaa0000aaaa0000".into(),
        after_sha256,
        metadata_same,
        edits,
    }
}
