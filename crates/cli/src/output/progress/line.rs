//! One running trial in one line that fits the screen: what matters most first, and the last line of its log in what is left.

use std::time::{Duration, Instant};

use bystander_lab::live::{Phase, Status};

use super::super::text::{bytes, clean, clipped, span};

/// What is known of a cell from its earlier launches, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Usual {
    /// The median of the times from spawn to ready.
    pub(super) ready: Option<f64>,
    /// The median of whole trials.
    pub(super) whole: Option<f64>,
}

/// A log line is not begun in fewer columns.
const SHORTEST_LOG: usize = 16;

/// What a trial is doing, for how long, and how long that took before.
pub(super) fn doing(status: &Status, now: Duration, usual: Usual) -> String {
    let word = match &status.detail {
        Some(detail) => format!("{} for {}", status.phase.word(), clean(detail)),
        None if status.phase == Phase::Stopping => {
            let left = status.killed_at.map(|at| at.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero());
            let kill = left.map_or_else(String::new, |left| format!(", SIGKILL in {}", span(left.as_secs_f64().ceil())));
            format!("{}{kill}", status.phase.word())
        }
        None => status.phase.word().to_owned(),
    };
    let elapsed = span(now.as_secs_f64());
    let before = match (usual.ready.filter(|_| status.phase.is_before_ready()), usual.whole) {
        (Some(ready), _) => format!(", ready after {} before", span(ready)),
        (None, Some(whole)) => format!(" of about {}", span(whole)),
        (None, None) => String::new(),
    };
    format!("{word}  {elapsed}{before}")
}

/// The memory that is known.
pub(super) fn memory(status: &Status) -> Option<String> {
    let rss = status.rss_bytes.map(bytes);
    let gpu = status.gpu_bytes.map(|gpu| format!("GPU {}", bytes(gpu)));
    let known: Vec<String> = rss.into_iter().chain(gpu).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// The parts of a line that fit, in their order; the log line takes what is left.
pub(super) fn fit(place: &str, doing: &str, memory: Option<&str>, log: Option<&str>, width: usize) -> String {
    let mut line = format!("{place}  {doing}");
    let columns = |text: &str| unicode_width::UnicodeWidthStr::width(text);
    if columns(&line) > width {
        // What it does matters more than where it stands.
        return clipped(&format!("{doing}  {place}"), width);
    }
    if let Some(memory) = memory.filter(|memory| columns(&line) + 2 + columns(memory) <= width) {
        line = format!("{line}  {memory}");
    }
    let left = width.saturating_sub(columns(&line) + 4);
    match log.map(clean).filter(|log| !log.is_empty() && left >= SHORTEST_LOG) {
        Some(log) => format!("{line}  | {}", clipped(&log, left)),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn what_matters_most_is_what_a_narrow_screen_shows() {
        let line = |width| {
            fit(
                "block 1/4  trial 2/4  custom/print",
                "loading  42 s",
                Some("1.20 GiB"),
                Some("\u{1b}[31mloading weights\u{1b}[0m 30 %\r"),
                width,
            )
        };
        assert_eq!(line(100), "block 1/4  trial 2/4  custom/print  loading  42 s  1.20 GiB  | loading weights 30 %");
        assert_eq!(line(80), "block 1/4  trial 2/4  custom/print  loading  42 s  1.20 GiB  | loading weights \u{2026}");
        assert_eq!(line(62), "block 1/4  trial 2/4  custom/print  loading  42 s  1.20 GiB");
        assert_eq!(line(50), "block 1/4  trial 2/4  custom/print  loading  42 s");
        assert_eq!(line(20), "loading  42 s  bloc\u{2026}");
        for width in 0..120 {
            assert!(unicode_width::UnicodeWidthStr::width(line(width).as_str()) <= width, "{width}: {}", line(width));
        }
    }
}
