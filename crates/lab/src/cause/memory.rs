//! Memory that ran out: on a device, whose message says who holds it, and on the host, where only the kernel's count or its words prove anything.

use std::sync::LazyLock;

use regex::Regex;

use super::facts::TrialFacts;
use super::traceback::{Raised, Traceback};

/// The class of a device's memory that ran out.
pub(super) const DEVICE_OOM: &str = "memory.device_oom";

/// An amount of memory in a message, such as `70.00 GiB`.
const AMOUNT: &str = r"(\d+(?:\.\d+)?) (bytes|KiB|MiB|GiB|TiB)";

static CAPACITY: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("total capacity of {AMOUNT}")));
static FREE: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("of which {AMOUNT} is free")));
static OWN: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("this process has {AMOUNT} memory in use")));
static OTHER: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"\bProcess (\d+) has {AMOUNT} memory in use")));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a literal pattern")
}

/// Who holds a device's memory, as the message of the error has it. Amounts are in GiB.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    /// What others than the process that stopped hold.
    pub(super) others: f64,
    /// What it holds itself.
    pub(super) own: f64,
    /// The other processes by number, with what they hold.
    pub(super) named: Vec<(u32, f64)>,
}

/// How the runtimes of devices say that memory ran out.
const SAID: [&str; 5] =
    ["CUDA out of memory", "HIP out of memory", "CUDA error: out of memory", "XPU out of memory", "hipErrorOutOfMemory"];

/// Whether a line that explains an end, without a traceback, says that a device's memory ran out.
pub(super) fn says_device_oom(line: &str) -> bool {
    line.contains("OutOfMemoryError") || SAID.iter().any(|text| line.contains(text))
}

/// The exception of a traceback that says that a device's memory ran out. The type decides, or the words of the runtime in an error of its own.
pub(super) fn device_oom(traceback: &Traceback) -> Option<&Raised> {
    traceback.raised.iter().find(|raised| {
        let runtime = matches!(raised.short_kind(), "RuntimeError" | "AcceleratorError");
        raised.short_kind() == "OutOfMemoryError" || (runtime && SAID.iter().any(|text| raised.message.contains(text)))
    })
}

/// Whose the memory is, where the message says so.
pub(super) fn held(message: &str) -> Option<Held> {
    let gib = |found: &regex::Captures<'_>, at: usize| amount(&found[at], &found[at + 1]);
    let of = |regex: &Regex| regex.captures(message).and_then(|found| gib(&found, 1));
    let (capacity, free, own) = (of(&CAPACITY)?, of(&FREE)?, of(&OWN)?);
    let named: Vec<(u32, f64)> = OTHER.captures_iter(message).filter_map(|found| Some((found[1].parse().ok()?, gib(&found, 2)?))).collect();
    Some(Held { others: (capacity - free - own).max(0.0), own, named })
}

fn amount(number: &str, unit: &str) -> Option<f64> {
    let scale = match unit {
        "bytes" => 1.0 / f64::from(1 << 30),
        "KiB" => 1.0 / f64::from(1 << 20),
        "MiB" => 1.0 / 1024.0,
        "GiB" => 1.0,
        "TiB" => 1024.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

impl Held {
    /// What is held by processes that are not of the trial, where that can be told: by number, or because the trial has only one process.
    pub(super) fn foreign(&self, facts: &TrialFacts) -> Option<f64> {
        if !self.named.is_empty() && !facts.pids.is_empty() {
            return Some(self.named.iter().filter(|(pid, _)| !facts.pids.contains(pid)).map(|(_, held)| held).sum());
        }
        (facts.pids.len() == 1).then_some(self.others)
    }

    /// Whether others than the trial hold most of what is in use.
    pub(super) fn is_mostly_foreign(&self, facts: &TrialFacts) -> bool {
        self.foreign(facts).is_some_and(|foreign| foreign > 1.0 && foreign > self.own && foreign * 2.0 > self.others + self.own)
    }

    /// The shares in words.
    pub(super) fn words(&self) -> String {
        let named: Vec<String> = self.named.iter().map(|(pid, held)| format!("pid {pid} {held:.2} GiB")).collect();
        let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
        format!("{:.2} GiB are held by other processes{named}, {:.2} GiB by the one that stopped", self.others, self.own)
    }
}

#[cfg(test)]
mod tests {
    use super::held;

    #[test]
    fn shares_are_read_with_their_units() {
        let message = "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 94.97 GiB of which 512.00 MiB is free. \
                       Process 71 has 91.00 GiB memory in use. Including non-PyTorch memory, this process has 3.18 GiB memory in use.";
        let found = held(message).expect("shares");
        assert!((found.others - 91.29).abs() < 0.01 && (found.own - 3.18).abs() < 1e-9, "{found:?}");
        assert_eq!(found.named, [(71, 91.0)]);
        assert_eq!(held("CUDA out of memory. Tried to allocate 2 GiB."), None);
    }
}
