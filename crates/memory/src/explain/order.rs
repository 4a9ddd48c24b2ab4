//! Whether the lines of a log stand in the order in which they were written. Viewers export the newest first, and searches without any order: read like
//! that, a server would fail before it starts.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::line::Line;

/// Writers whose clocks are followed.
const WRITERS: usize = 64;
/// Steps of a clock up to this say nothing, in seconds: lines of one process may overtake each other.
const JITTER: i64 = 2;

/// The steps of the clocks of one log, each writer by its own.
#[derive(Debug, Default)]
pub(super) struct Order {
    last: BTreeMap<String, i64>,
    /// Steps back that are beyond the jitter, and all steps.
    back: u32,
    all_forward: u32,
    all_back: u32,
}

/// An order in which a log cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disorder {
    /// The newest line stands first.
    Reversed,
    /// None.
    Mixed,
}

impl Order {
    pub(super) fn line(&mut self, line: &Line<'_>) {
        let Some((label, seconds)) = stamp(line.text) else { return };
        let writer = format!("{}/{}/{label}", line.container.unwrap_or_default(), line.pid.unwrap_or_default());
        if self.last.len() >= WRITERS && !self.last.contains_key(&writer) {
            return;
        }
        let Some(step) = self.last.insert(writer, seconds).map(|last| seconds - last) else { return };
        let count = |counter: &mut u32, is_one: bool| *counter = counter.saturating_add(u32::from(is_one));
        count(&mut self.all_forward, step > 0);
        count(&mut self.all_back, step < 0);
        count(&mut self.back, step < -JITTER);
    }

    /// A step back is where another log was appended, and each log goes forward for some lines; without an order there are about as many steps back.
    pub(super) fn disorder(&self) -> Option<Disorder> {
        if self.all_back >= 2 && self.all_forward == 0 {
            return Some(Disorder::Reversed);
        }
        (self.back >= 2 && self.back > self.all_forward / 2).then_some(Disorder::Mixed)
    }
}

/// The labels and the time of a line, in seconds of a calendar in which each month has 31 days.
fn stamp(text: &str) -> Option<(&str, i64)> {
    static STAMP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:\[(?P<year>\d{4})-|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) )(?P<month>\d\d)-(?P<day>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,]\d+)?(?P<label>[^\]\[]{0,40})",
        )
        .expect("a literal pattern")
    });
    let found = STAMP.captures(text)?;
    let number = |name: &str| found.name(name).map_or(Some(0), |number| number.as_str().parse::<i64>().ok());
    let days = (number("year")? * 12 + number("month")?) * 31 + number("day")?;
    let label = if found.name("year").is_some() { found.name("label").map_or("", |label| label.as_str()) } else { "" };
    Some((label, ((days * 24 + number("h")?) * 60 + number("m")?) * 60 + number("s")?))
}

#[cfg(test)]
mod tests {
    use super::{Disorder, Order};
    use crate::line::{Line, Place};

    fn order(times: &[(u32, &str)]) -> Option<Disorder> {
        let place = Place { source: "x".into(), line: 1 };
        let mut order = Order::default();
        for (seconds, label) in times {
            let text = format!("[2026-06-01 10:{:02}:{:02}{label}] x", seconds / 60, seconds % 60);
            order.line(&Line { place: &place, text: &text, container: None, process: None, pid: None, is_cut: false });
        }
        order.disorder()
    }

    #[test]
    fn clocks_that_run_back_are_told_from_logs_that_follow_each_other() {
        assert_eq!(order(&[(0, ""), (10, ""), (20, ""), (19, ""), (40, "")]), None);
        assert_eq!(order(&[(40, ""), (20, ""), (10, ""), (9, ""), (0, "")]), Some(Disorder::Reversed));
        assert_eq!(order(&[(2, ""), (1, ""), (1, ""), (0, "")]), Some(Disorder::Reversed));
        assert_eq!(order(&[(2, ""), (1, ""), (2, ""), (1, ""), (3, "")]), None);
        assert_eq!(order(&[(0, ""), (40, ""), (10, ""), (50, ""), (20, "")]), Some(Disorder::Mixed));
        // Two logs, the later one first.
        assert_eq!(order(&[(100, ""), (110, ""), (120, ""), (0, ""), (10, ""), (20, "")]), None);
        // The same short start four times, as `cat` of four nodes gives it.
        let start = [(0, ""), (1, ""), (2, ""), (3, ""), (9, "")];
        assert_eq!(order(&start.repeat(4)), None);
        // Clocks of two machines that do not agree.
        assert_eq!(order(&[(0, " TP0"), (30, " TP1"), (5, " TP0"), (35, " TP1"), (10, " TP0"), (40, " TP1")]), None);
    }
}
