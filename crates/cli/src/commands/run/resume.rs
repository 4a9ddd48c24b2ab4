//! Whether a run that was stopped may be taken up: everything that speaks against it is said at once, before anything else is.

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::place::Checkup;

use super::SPECIFICATION;
use crate::failure::Failure;

/// Refuses a run that would not be the same run any more.
///
/// # Errors
/// With every reason, one a line: what changed, is gone or is new since it started, and a seed that is not its own.
pub(super) fn allow(ledger: &Ledger, checkup: &Checkup, seed: Option<u64>) -> Result<(), Failure> {
    let (then, now) = (&ledger.fingerprint, &checkup.fingerprint);
    let changed = conduct::changed(then, now);
    let how = |name: &String| match (then.contains_key(name), now.contains_key(name)) {
        (true, false) => format!("{name} is gone since the run started"),
        (false, _) => format!("{name} is new since the run started"),
        _ if name == SPECIFICATION => format!("{name} changed since the run started: {}", ledger.plan.file.display()),
        _ => format!("{name} changed since the run started"),
    };
    let order = seed.filter(|seed| *seed != ledger.seed);
    let order = order.map(|seed| format!("its order is fixed by seed {}, and `--seed` asks for {seed}", ledger.seed));
    let reasons: Vec<String> = changed.iter().map(how).chain(order.clone()).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let stood = match ledger.trials.len() {
        0 => "before its first launch".to_owned(),
        launches => format!("after trial {launches}"),
    };
    let mut failure = Failure::user(format!("failed to take up run {}, which was stopped {stood}; nothing was launched", ledger.run));
    failure.causes = reasons;
    if order.is_some() {
        failure = failure.hint("leave `--seed` out to go on in the order of the run");
    }
    if !changed.is_empty() {
        failure = failure.hint("undo the changes to go on with it");
    }
    Err(failure.hint("or start a new run with `--new`; the old one stays in the record"))
}
