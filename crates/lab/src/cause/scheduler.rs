//! What schedulers write into the output of those whom they end: Slurm's step daemon, and Kubernetes' reasons.
//!
//! Such a line is taken for a cause only where the program was ended by a signal, or by a code that stands for one: the words alone may be quoted.

use std::sync::LazyLock;

use bystander_model::outcome::{Cause, CauseGroup};
use regex::Regex;

use super::ended::{cause, ended_by_itself, exit_evidence, signal_of};
use super::facts::TrialFacts;
use super::kept::KeptLine;

/// Lines that a scheduler's daemon writes.
pub(super) const WORDS: &str =
    r"slurmstepd: error|slurmstepd: Detected|srun: error: .*(?:Out Of Memory|Killed)|\bOOMKilled\b|\bOOM Killed\b|reason: Evicted";

static CANCELLED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"slurmstepd: error: \*\*\* (?:JOB|STEP) .*CANCELLED AT \S+(?: DUE TO ([A-Z ]+?))?(?: \*\*\*|$)").expect("a literal pattern")
});
static MEMORY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"Detected \d+ oom[-_]kill event|Out Of Memory|\bOOMKilled\b|\bOOM Killed\b|Exceeded .*memory limit")
        .expect("a literal pattern")
});

/// The cause that a scheduler's words tell, where the program's end agrees with them.
pub(super) fn told(facts: &TrialFacts) -> Option<Cause> {
    if !ended_by_itself(facts) || signal_of(facts).is_none() {
        return None;
    }
    let until = facts.stopped.as_ref().map(|stopped| stopped.at);
    let mut lines = facts.scan.scheduler.iter().filter(|line| until.is_none_or(|until| line.time <= until));
    lines.find_map(|line| of_line(facts, line))
}

fn of_line(facts: &TrialFacts, line: &KeptLine) -> Option<Cause> {
    let (class, group) = if let Some(found) = CANCELLED.captures(&line.text) {
        let why = match found.get(1).map(|why| why.as_str()) {
            Some("PREEMPTION") => "scheduler.preempted",
            Some("NODE FAILURE") => "scheduler.node_fail",
            Some("TIME LIMIT") => "scheduler.time_limit",
            _ => "scheduler.cancelled",
        };
        (why, CauseGroup::Infrastructure)
    } else if MEMORY.is_match(&line.text) {
        ("host_oom", CauseGroup::Target)
    } else if line.text.contains("reason: Evicted") {
        ("scheduler.preempted", CauseGroup::Infrastructure)
    } else {
        return None;
    };
    let mut cause = cause(class, group, class, format!("the scheduler ended it: {}", line.text.trim()));
    cause.evidence.push(line.evidence(facts.trial));
    cause.evidence.extend(exit_evidence(facts));
    Some(cause)
}
