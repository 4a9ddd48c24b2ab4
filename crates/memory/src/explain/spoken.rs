//! Lines that the process of any engine may print, or whoever started it: kills, errors of the driver and of NCCL, a device out of memory.
//!
//! [`note`] keeps them as messages of the facts, under the names below, whatever the engine.

use std::sync::LazyLock;

use regex::Regex;

use super::causes::device::OutOfMemory;
use super::facts::{FAILURES, Failure};
use super::failure::{Raised, Tracebacks};
use super::{Facts, Reader};
use crate::figures::rounded;
use crate::line::{Line, Place};

/// The engine's name where lines of no engine stand there.
pub const NOBODY: &str = "unknown";

/// A process was killed from outside.
pub const KILLED: &str = "killed";
/// The kernel killed for want of host memory.
pub const OOM_KILLED: &str = "oom_killed";
/// `/dev/shm`, or a segment of shared memory.
pub const SHM: &str = "shm";
/// An error of NCCL or RCCL.
pub const NCCL: &str = "nccl";
/// NCCL found no memory on the device.
pub const NCCL_MEMORY: &str = "nccl_memory";
/// GPUs that cannot reach each other's memory.
pub const PEER_ACCESS: &str = "peer_access";
/// The driver could not allocate.
pub const DRIVER_MEMORY: &str = "driver_memory";
/// Windows Subsystem for Linux.
pub const WSL: &str = "wsl";
/// A slice of a GPU, or a virtual GPU.
pub const SLICE: &str = "slice";
/// A GPU that shares its memory with the host.
pub const UNIFIED: &str = "unified";
/// Processes of an engine in a list of those that use a GPU.
pub const LISTED: &str = "listed";
/// Ranks waited for each other until a watchdog ended it.
pub const HANG: &str = "hang";
/// Memory that is used of a card, as `nvidia-smi` prints it: `4910MiB / 46068MiB`.
pub const CARD: &str = "card";

/// Texts, and what a line that holds one is.
const NAMED: &[(&str, &str)] = &[
    ("Killed process", OOM_KILLED),
    ("oom-kill", OOM_KILLED),
    ("oom_kill", OOM_KILLED),
    ("OOMKilled", OOM_KILLED),
    ("Killed", KILLED),
    ("exit code -9", KILLED),
    ("exit code: -9", KILLED),
    ("exitcode=-9", KILLED),
    ("exitcode: -9", KILLED),
    ("exited with code 137", KILLED),
    ("SIGKILL", KILLED),
    ("/dev/shm", SHM),
    ("shared memory segment", SHM),
    ("insufficient shared memory", SHM),
    ("Failed to CUDA ", NCCL_MEMORY),
    ("'out of memory'", NCCL_MEMORY),
    ("NCCL error", NCCL),
    ("NCCL WARN", NCCL),
    ("DistBackendError", NCCL),
    ("peer access is not supported", PEER_ACCESS),
    ("P2P capability or P2P test failed", PEER_ACCESS),
    ("NV_ERR_NO_MEMORY", DRIVER_MEMORY),
    ("dxgkio_make_resident", WSL),
    ("microsoft-standard", WSL),
    ("WSL is detected", WSL),
    ("dxgkrnl", WSL),
    ("NVIDIA GB10", UNIFIED),
    ("NVIDIA Thor", UNIFIED),
    ("NVIDIA Orin", UNIFIED),
    ("NVIDIA Jetson", UNIFIED),
    ("NVIDIA Tegra", UNIFIED),
    ("collective operation timeout", HANG),
    ("VLLM::", LISTED),
    ("sglang::", LISTED),
    ("MiB / ", CARD),
];

/// Texts of lines that matter whatever the engine.
pub const TEXTS: &[&str] = &[
    "Traceback (most recent call last)",
    "Error: ",
    "Killed",
    "oom-kill",
    "oom_kill",
    "SIGKILL",
    "exit code -9",
    "exit code: -9",
    "exitcode=-9",
    "exitcode: -9",
    "exited with code 137",
    "/dev/shm",
    "shared memory segment",
    "insufficient shared memory",
    "Failed to CUDA ",
    "NCCL error",
    "NCCL WARN",
    "DistBackendError",
    "OutOfMemoryError",
    "out of memory",
    "peer access is not supported",
    "P2P capability or P2P test failed",
    "NV_ERR_NO_MEMORY",
    "dxgkio_make_resident",
    "microsoft-standard",
    "WSL is detected",
    "dxgkrnl",
    "MIG ",
    "MIG-",
    "vGPU",
    "GRID ",
    "NVIDIA ",
    "collective operation timeout",
    "VLLM::",
    "sglang::",
    "MiB / ",
];

/// Keeps a line that any process may print; `text` is the line without the engine's stamp.
pub fn note(facts: &mut Facts, text: &str, label: &str, place: &Place) {
    // A list of devices is indented, too; one line of it is enough.
    if is_slice(text) && facts.message(SLICE).is_none() {
        facts.note(SLICE, text, label, place);
    }
    // A frame of a traceback quotes source code, which may hold any of the words.
    if text.starts_with([' ', '\t']) {
        return;
    }
    if let Some((_, name)) = NAMED.iter().find(|(sought, _)| text.contains(sought)) {
        facts.note(name, text, label, place);
    }
}

/// Whether a line names a part of a GPU: an instance of a card that is split (MIG), or a virtual GPU by the name of its profile, such as `NVIDIA A40-48Q`.
#[must_use]
pub fn is_slice(text: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"MIG [0-9]+g\.[0-9]+gb|MIG-(?:GPU-)?[0-9a-f]{8}-|\b(?:NVIDIA|GRID) [A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*-[0-9]+[ABCQ]\b")
            .expect("a literal pattern")
    });
    let may = ["MIG", "vGPU", "NVIDIA", "GRID"].iter().any(|part| text.contains(part));
    may && (text.contains("MIG devices:") || text.contains("vGPU") || text.contains("NVIDIA GRID") || NAME.is_match(text))
}

/// Keeps an error.
pub fn fail(facts: &mut Facts, raised: Raised, label: &str, place: &Place) {
    let phase = facts.phase();
    if facts.failures.len() < FAILURES {
        let Raised { kind, message, through } = raised;
        facts.failures.push(Failure { kind, message, place: place.clone(), phase, label: label.to_owned(), through });
    }
}

/// The size of the card in GiB, and the lines that say it: what `nvidia-smi` prints, or PyTorch in an error.
#[must_use]
pub fn card(facts: &Facts) -> Option<(f64, Vec<Place>)> {
    if let Some(gib) = facts.asked.card_gib {
        return Some((gib, Vec::new()));
    }
    let listed = facts.messages_of(CARD).find_map(|message| {
        let rest = message.text.split_once("MiB / ")?.1;
        let mib = rounded(rest.trim_start()).filter(|_| rest.contains("MiB"))?;
        Some((mib.value / 1024.0, vec![message.place.clone()]))
    });
    listed.or_else(|| {
        let (failure, total) = facts.failures.iter().find_map(|failure| Some((failure, OutOfMemory::of(failure)?.total?)))?;
        Some((total.value, vec![failure.place.clone()]))
    })
}

/// A reader of what any process says.
pub(super) fn reader() -> Box<dyn Reader> {
    Box::new(Anyone::default())
}

#[derive(Default)]
struct Anyone {
    facts: Option<Facts>,
    tracebacks: Tracebacks,
}

impl Reader for Anyone {
    fn line(&mut self, line: &Line<'_>) {
        let facts = self.facts.get_or_insert_with(|| Facts::new(NOBODY, line.place));
        note(facts, line.text, "", line.place);
        if let Some(raised) = self.tracebacks.line(line.text) {
            fail(facts, raised, "", line.place);
        }
    }

    fn wants_next(&self) -> bool {
        self.tracebacks.is_open()
    }

    fn finish(&mut self) -> Vec<Facts> {
        self.facts.take().filter(|facts| !(facts.failures.is_empty() && facts.messages.is_empty())).into_iter().collect()
    }
}
