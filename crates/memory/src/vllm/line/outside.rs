//! What stands around an engine's lines: other processes' reports, lists of processes and of cards, the machine.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use regex::Regex;

use super::{Line, Platform};
use crate::vllm::amount::{after, amount, bytes, whole};

/// Reports of one process that another one failed; never the first cause.
const WRAPPERS: [&str; 9] = [
    "EngineCore failed to start",
    "WorkerProc failed to start",
    "WorkerProc initialization failed",
    "WorkerProc hit an exception",
    "Engine core initialization failed",
    "EngineCore encountered a fatal error",
    "EngineCore encountered an issue",
    "EngineDeadError",
    "Engine process failed to start",
];

/// Whether a message only passes on that a process failed.
pub(crate) fn is_wrapper(message: &str) -> bool {
    WRAPPERS.iter().any(|text| message.contains(text))
}

/// Reads what was pasted beside the log.
pub(super) fn read(level: &str, message: &str, found: &mut Vec<Line>) {
    found.extend(card(message));
    // The engine itself names its processes in its lines; those are no list.
    if level.is_empty() {
        found.extend(process(message));
    }
    if let Some(rest) = after(message, "MemAvailable:") {
        let kib = whole(rest).filter(|_| rest.contains("kB")).map(|kib| bytes(kib * 1024.0));
        found.extend(kib.or_else(|| amount(rest)).map(Line::HostAvailable));
    }
    if message.contains("NCCL INFO") {
        found.push(Line::NcclTalks);
    }
    if message.contains("utotuning process starts") || message.contains("utotuning process ends") {
        found.push(Line::Tunes { ends: message.contains("ends") });
    }
    if message.contains("No available shared memory broadcast block found") {
        found.push(Line::Waiting);
    }
}

/// `4910MiB / 46068MiB`, as `nvidia-smi` prints it.
fn card(message: &str) -> Option<Line> {
    static CARD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([0-9]+) ?MiB */ *([0-9]+) ?MiB").expect("a literal pattern"));
    let found = CARD.captures(message)?;
    let mib = |at: usize| number(&found[at]).map(|mib| mib / 1024.0);
    let (used, total) = mib(1).zip(mib(2)).filter(|(used, total)| used <= total && *total > 0.0)?;
    Some(Line::Card {
        used: Figure::exact(used),
        total: Figure::exact(total),
        eager: message.contains("enforce-eager") || message.contains("enforce_eager"),
    })
}

/// A number that can be one: so many digits that it overflows are none.
fn number(digits: &str) -> Option<f64> {
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The longest title that is kept, in characters.
const TITLE_KEPT: usize = 40;

/// A process by the title that the engines give it; a kernel cuts it to 15 bytes.
fn process(message: &str) -> Option<Line> {
    static TITLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:VLLM|sglang)::[A-Za-z0-9_]+").expect("a literal pattern"));
    static HOLDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([0-9]+) ?MiB").expect("a literal pattern"));
    static BYTES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^| )([0-9]{9,15})(?: |$)").expect("a literal pattern"));
    let title = TITLE.find(message)?.as_str().chars().take(TITLE_KEPT).collect();
    let mib = HOLDS.captures(message).and_then(|found| number(&found[1])).map(|mib| Figure::exact(mib / 1024.0));
    let holds = mib.or_else(|| BYTES.captures(message).and_then(|found| number(&found[1])).map(bytes));
    Some(Line::Process { title, holds })
}

/// Reads what tells the kind of machine, of any line.
pub(super) fn platform(message: &str, found: &mut Vec<Line>) {
    if message.contains("NVIDIA GB10") || message.contains("DGX Spark") || message.contains("NV_ERR_NO_MEMORY") {
        found.push(Line::Platform(Platform::Unified));
    }
    if message.contains("microsoft-standard") || message.contains("WSL2") || message.contains("Using 'pin_memory=False' as WSL is detected")
    {
        found.push(Line::Platform(Platform::Wsl));
    }
    if crate::explain::spoken::is_slice(message) {
        found.push(Line::Platform(Platform::Slice));
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, card, process};

    #[test]
    fn lists_of_cards_and_processes_are_read() {
        assert!(matches!(card("| 30%   4910MiB / 46068MiB |"), Some(Line::Card { eager: false, .. })));
        assert!(matches!(card("21395MiB / 24564MiB (with --enforce-eager)"), Some(Line::Card { eager: true, .. })));
        assert_eq!(card("1MiB / 0MiB"), None);
        let Some(Line::Process { title, holds: Some(holds) }) = process("4242 VLLM::EngineCor 1 114151137280") else { panic!("a process") };
        assert!(title == "VLLM::EngineCor" && (holds.value - 106.311).abs() < 1e-3);
        assert!(matches!(process("1234, 22528 MiB, VLLM::Worker"), Some(Line::Process { holds: Some(holds), .. }) if holds.value == 22.0));
        assert!(matches!(process("VLLM::EngineCore"), Some(Line::Process { holds: None, .. })));
    }
}
