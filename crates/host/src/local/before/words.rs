//! Sizes, spans of time and processes in words.

use std::time::Duration;

use bystander_supervise::tree::ProcessInfo;
use bystander_supervise::{census, user};

use crate::secrets;

/// A longer title is cut, in characters.
const TITLE: usize = 120;
const MIB: u64 = 1 << 20;

/// A size of memory, such as `812 MiB` or `21.4 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    let mib = bytes / MIB;
    if mib < 1024 { format!("{mib} MiB") } else { format!("{:.1} GiB", bytes as f64 / (1024 * MIB) as f64) }
}

/// A span of time, such as `500 ms`, `12 s`, `3 min` or `4 h`.
pub(in crate::local) fn span(span: Duration) -> String {
    match span.as_secs() {
        0 => format!("{} ms", span.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The title of a process without its secrets, cut where it is long.
pub(in crate::local) fn title(process: &ProcessInfo) -> String {
    let whole = process.title();
    let masked = secrets::masked_title(if whole.is_empty() { &process.comm } else { &whole });
    if masked.chars().count() <= TITLE {
        return masked;
    }
    masked.chars().take(TITLE).chain(['\u{2026}']).collect()
}

/// A process with what tells who it is: `pid 17 (VLLM::EngineCore), user ann, running for 3 h`.
pub(in crate::local) fn process(process: &ProcessInfo) -> String {
    let user = census::user_of(process.pid).map_or_else(String::new, |uid| format!(", user {}", user(uid)));
    let age = census::age_of(process.pid).map_or_else(String::new, |age| format!(", running for {}", span(age)));
    format!("pid {} ({}){user}{age}", process.pid, title(process))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{size, span};

    #[test]
    fn sizes_and_spans_are_short() {
        assert_eq!([size(0), size(812 << 20), size(1 << 30), size((21 << 30) + (410 << 20))], ["0 MiB", "812 MiB", "1.0 GiB", "21.4 GiB"]);
        let spans = [
            Duration::from_millis(500),
            Duration::from_secs(60),
            Duration::from_secs(200),
            Duration::from_secs(9000),
            Duration::from_secs(200_000),
        ];
        assert_eq!(spans.map(span), ["500 ms", "60 s", "3 min", "2 h", "2 days"]);
    }
}
