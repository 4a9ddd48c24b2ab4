//! The choice of a way in: the least disturbing one that reaches the program, with the reason.

use std::ffi::OsStr;

use bystander_model::probe::Delivery;
use bystander_supervise::Availability;

use super::flags::{Hidden, hidden_from};
use super::limits::limits_of;

/// How a probe gets into a Python program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// By the environment: a folder first in `PYTHONPATH`.
    Overlay,
    /// By the environment, and by a `.pth` file in private mounts for processes that do not look at it.
    OverlayAndPth,
    /// By a statement in the text of the file, which only the trial sees.
    Text,
    /// By a statement in the text of the file on disk, for the time of the trial.
    Patch,
}

impl Way {
    /// The delivery that this is one way of.
    #[must_use]
    pub fn delivery(self) -> Delivery {
        match self {
            Way::Overlay => Delivery::Overlay,
            Way::OverlayAndPth | Way::Text => Delivery::Mount,
            Way::Patch => Delivery::Patch,
        }
    }

    /// Whether it needs private mounts.
    #[must_use]
    pub fn is_mounted(self) -> bool {
        matches!(self, Way::OverlayAndPth | Way::Text)
    }
}

/// A chosen way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The way.
    pub way: Way,
    /// Why this one.
    pub reason: String,
    /// What it cannot do, one sentence each.
    pub limits: Vec<String>,
}

impl Choice {
    fn new(way: Way, reason: impl Into<String>, available: &Availability) -> Self {
        Self { way, reason: reason.into(), limits: limits_of(way, available) }
    }

    /// One line for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let how = match self.way {
            Way::Overlay => "overlay",
            Way::OverlayAndPth => "mount (overlay, and a .pth file in private mounts)",
            Way::Text => "mount (a statement in a private copy of the file)",
            Way::Patch => "patch (a statement in the file on disk)",
        };
        format!("{how}: {}", self.reason)
    }
}

/// Why nothing that was allowed reaches the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reach the program: {reason}")]
pub struct Unreachable {
    /// The reason.
    pub reason: String,
    /// What to do.
    pub mend: String,
}

/// Chooses a way for a probe in a Python program that is started by `command`.
///
/// # Errors
/// [`Unreachable`] where the delivery that was asked for, or the only one that would do, is refused here.
pub fn choose<S: AsRef<OsStr>>(wanted: Delivery, command: &[S], available: &Availability) -> Result<Choice, Unreachable> {
    let hidden = hidden_from(command);
    match wanted {
        Delivery::Auto => automatic(hidden, available),
        Delivery::Overlay => Ok(Choice::new(Way::Overlay, overlaid(hidden), available)),
        Delivery::Mount => mounted(hidden, available),
        Delivery::Patch => Ok(Choice::new(Way::Patch, "it was asked for", available)),
    }
}

fn automatic(hidden: Hidden, available: &Availability) -> Result<Choice, Unreachable> {
    if hidden.site {
        return by_text("the command starts Python with -S, which reads no .pth file".to_owned(), available);
    }
    let Some(option) = hidden.environment else {
        return Ok(Choice::new(Way::Overlay, "it changes nothing outside of the program's processes", available));
    };
    let why = format!("the command starts Python with {option}, which hides the environment");
    match available.layers_refusal() {
        None => Ok(Choice::new(Way::OverlayAndPth, why, available)),
        Some(refusal) if available.refusal().is_none() => {
            by_text(format!("{why}, and folders cannot be layered: {}", refusal.reason), available)
        }
        // The receipts of the processes that it does not reach say so.
        Some(refusal) => Ok(Choice::new(
            Way::Overlay,
            format!("{why}, and private mounts are refused: {}; such processes stay uncovered ({})", refusal.reason, refusal.mend),
            available,
        )),
    }
}

fn overlaid(hidden: Hidden) -> String {
    match (hidden.site, hidden.environment) {
        (true, _) => "it was asked for; the command starts Python with -S, which it does not reach".to_owned(),
        (_, Some(option)) => format!("it was asked for; the command starts Python with {option}, which it does not reach"),
        _ => "it was asked for".to_owned(),
    }
}

fn mounted(hidden: Hidden, available: &Availability) -> Result<Choice, Unreachable> {
    if hidden.site {
        return by_text("it was asked for, and -S reads no .pth file".to_owned(), available);
    }
    match available.layers_refusal() {
        None => Ok(Choice::new(Way::OverlayAndPth, "it was asked for", available)),
        Some(refusal) => by_text(format!("it was asked for, and folders cannot be layered: {}", refusal.reason), available),
    }
}

fn by_text(reason: String, available: &Availability) -> Result<Choice, Unreachable> {
    match available.refusal() {
        None => Ok(Choice::new(Way::Text, reason, available)),
        Some(refusal) => Err(Unreachable {
            reason: format!("{reason}; private mounts are refused: {}", refusal.reason),
            mend: format!("{}; for a program with -S the delivery is `patch`", refusal.mend),
        }),
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::probe::Delivery;
    use bystander_supervise::Availability;
    use bystander_supervise::namespace::Refusal;

    use super::{Way, choose};

    fn refusal() -> Refusal {
        Refusal { reason: "a setting forbids it".into(), mend: "change the setting".into() }
    }

    fn words(command: &str) -> Vec<&str> {
        command.split(' ').collect()
    }

    #[test]
    fn the_least_disturbing_way_that_reaches_the_program_is_taken() {
        let here = Availability::User { layers: None };
        let files_only = Availability::User { layers: Some(refusal()) };
        let nowhere = Availability::Refused(refusal());
        let way = |wanted, command: &str, available| choose(wanted, &words(command), available).map(|choice| choice.way).ok();
        for (command, expected) in [
            ("python3 x.py", [Some(Way::Overlay); 3]),
            ("uvicorn app", [Some(Way::Overlay); 3]),
            ("python3 -I x.py", [Some(Way::OverlayAndPth), Some(Way::Text), Some(Way::Overlay)]),
            ("env -i python3 x.py", [Some(Way::OverlayAndPth), Some(Way::Text), Some(Way::Overlay)]),
            ("python3 -S x.py", [Some(Way::Text), Some(Way::Text), None]),
        ] {
            let found = [&here, &files_only, &nowhere].map(|available| way(Delivery::Auto, command, available));
            assert_eq!(found, expected, "{command}");
        }
        assert_eq!(way(Delivery::Mount, "python3 x.py", &here), Some(Way::OverlayAndPth));
        assert_eq!(way(Delivery::Mount, "python3 x.py", &nowhere), None);
        assert_eq!(way(Delivery::Overlay, "python3 -S x.py", &here), Some(Way::Overlay));
        assert_eq!(way(Delivery::Patch, "python3 -S x.py", &nowhere), Some(Way::Patch));
    }

    #[test]
    fn a_choice_says_why_and_what_it_cannot_do() {
        let nowhere = Availability::Refused(refusal());
        let choice = choose(Delivery::Auto, &words("python3 -I x.py"), &nowhere).expect("is reachable in part");
        assert!(choice.reason.contains("-I") && choice.reason.contains("a setting forbids it"), "{}", choice.describe());
        let refused = choose(Delivery::Auto, &words("python3 -S x.py"), &nowhere).expect_err("is refused");
        assert!(refused.reason.contains("-S") && refused.mend.contains("change the setting"), "{refused:?}");
        let choice = choose(Delivery::Mount, &words("python3 x.py"), &Availability::User { layers: None }).expect("works");
        assert!(choice.limits.iter().any(|limit| limit.contains("EBUSY")), "{:?}", choice.limits);
        assert!(choice.limits.iter().any(|limit| limit.contains("user namespace")), "{:?}", choice.limits);
    }
}
