//! How the workload of a program failed, alone or after what the program raised meanwhile.

use std::sync::LazyLock;

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::outcome::{Cause, CauseGroup};
use regex::Regex;

use super::clip::clip;
use super::ended::{cause, with_last_words};
use super::facts::{TrialFacts, WorkloadEnd};
use super::requests;
use super::signals::signal_name;
use super::signature::short_mask;

/// The longest part of how a workload ended in the text of another cause, in bytes.
const WORK_WORDS: usize = 300;

/// How clients tell that a connection was lost; which of them they say is chance.
static LOST: LazyLock<Regex> = LazyLock::new(|| {
    let texts = r"(?i-u)connection (?:was )?(?:reset|aborted|closed|lost)|broken ?pipe|RemoteDisconnected|remote end closed|ServerDisconnected|server disconnected|IncompleteRead|ConnectionResetError|peer closed";
    Regex::new(texts).expect("a literal pattern")
});

/// How the workload ended, as evidence.
pub(super) fn workload_evidence(facts: &TrialFacts) -> Option<Evidence> {
    let text = workload_words(facts, facts.workload.as_ref()?);
    Some(Evidence { trial: Some(facts.trial), kind: EvidenceKind::Exit, place: "workload".into(), text })
}

fn workload_words(facts: &TrialFacts, end: &WorkloadEnd) -> String {
    match (end.timed_out, end.signal, end.exit) {
        (true, ..) => {
            let limit = facts.workload_limit_s.map_or_else(String::new, |limit_s| format!(" of {limit_s} s"));
            format!("the workload reached its time limit{limit}")
        }
        (_, Some(signal), _) => format!("the workload was ended by {}", signal_name(signal)),
        (_, _, Some(code)) => format!("the workload ended with exit code {code}"),
        _ => "the workload did not end".into(),
    }
}

/// The workload did not do what it was asked.
pub(super) fn workload(facts: &TrialFacts, end: &WorkloadEnd) -> Cause {
    if let Some(cause) = requests::refused(facts, end) {
        return cause;
    }
    let words = workload_words(facts, end);
    let (signature, text) = match &end.last_line {
        Some(line) => (format!("{words}: {}", short_mask(&line.text)), format!("{words}: {}", line.text)),
        None => (with_last_words(facts, &words), words),
    };
    let mut cause = cause("workload", CauseGroup::Target, signature, text);
    cause.evidence.extend(end.last_line.clone());
    cause.evidence.extend(workload_evidence(facts));
    cause
}

/// What a program that lives on raised while its workload ran, with how that failed: whether the one is why of the other is not shown, and launches whose
/// work failed in another way have not failed alike.
pub(super) fn then_workload(facts: &TrialFacts, raised: Cause, end: &WorkloadEnd) -> Cause {
    let work = workload(facts, end);
    // A connection that is lost may be told in several ways.
    let lost = end.last_line.as_ref().is_some_and(|line| LOST.is_match(&line.text));
    let then = if lost { format!("{}: its connection was lost", workload_words(facts, end)) } else { work.signature };
    let evidence = raised.evidence.into_iter().chain(work.evidence).collect();
    let text = format!("{}; then {}", raised.text, clip(&work.text, WORK_WORDS).trim_end());
    Cause { signature: format!("{}, then {then}", raised.signature), text, evidence, ..raised }
}
