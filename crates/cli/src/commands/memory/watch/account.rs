//! From what was seen to what is said.

use std::time::Duration;

use bystander_model::memory::{FORMAT, SamplingCost, WatchEnding, WatchedMemory, WatchedSubject};
use bystander_supervise::gpu::Numbering;
use bystander_supervise::host_memory;
use bystander_supervise::memory_watch::{GpusHere, MemoryWatch};
use rustix::time::{ClockId, clock_gettime};

use super::session::Seen;
use crate::output::Output;

/// What is known besides samples.
pub(super) struct Account {
    pub(super) what: WatchedSubject,
    pub(super) ending: WatchEnding,
    /// Why it was stopped, where the user has not asked for it.
    pub(super) why: Option<String>,
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) notes: Vec<String>,
    pub(super) interval: Duration,
}

/// Puts it together; a file that is not whole is told at once.
pub(super) fn account(of: Account, here: &GpusHere, seen: Seen, output: &mut Output) -> WatchedMemory {
    let Seen { samples, cost: [host, gpus], wall_s, lost } = seen;
    let mut notes = of.notes;
    notes.extend(here.silent.iter().map(|(index, why)| format!("GPU {index} does not answer: {why}")));
    notes.extend(here.sliced.iter().map(|(index, slices)| sliced(*index, slices)));
    if let Some(lost) = lost {
        output.advice(&lost);
        notes.push("not every sample is in the file of --output".to_owned());
    }
    let ms = |span: Duration| (span.as_secs_f64() * 1e6).round() / 1e3;
    let processor = clock_gettime(ClockId::ProcessCPUTime);
    let spent = processor.tv_sec as f64 + processor.tv_nsec as f64 / 1e9;
    let watches_gpus = !samples.gpus.is_empty();
    WatchedMemory {
        format: FORMAT,
        what: of.what,
        ending: of.ending,
        why: of.why.filter(|_| of.ending == WatchEnding::Interrupted),
        exit: of.exit,
        signal: of.signal,
        wall_s: (wall_s * 1e3).round() / 1e3,
        interval_s: of.interval.as_secs_f64(),
        driver: here.driver.clone(),
        no_gpus: (!here.absent.is_empty()).then(|| here.absent.join(": ")),
        told_by: watches_gpus.then(|| told_by(&MemoryWatch::numbering())),
        machine_bytes: host_memory::total(),
        cost: SamplingCost {
            samples: host.samples,
            mean_ms: ms(host.mean()),
            gpu_samples: gpus.samples,
            gpu_mean_ms: ms(gpus.mean()),
            gpu_worst_ms: ms(gpus.worst),
            processor_share: if wall_s > 0.0 { (spent / wall_s * 1e4).round() / 1e4 } else { 0.0 },
        },
        samples,
        notes,
    }
}

/// What it means for the figures of a GPU that it is divided.
fn sliced(index: u32, slices: &[String]) -> String {
    let names = if slices.is_empty() { String::new() } else { format!(" ({})", slices.join(", ")) };
    format!(
        "GPU {index} is divided into slices by MIG{names}: its figures are those of the whole GPU, and a process has the memory of its own slice alone"
    )
}

fn told_by(numbering: &Numbering) -> String {
    match numbering {
        Numbering::Ours => "Processes on GPUs are told by their numbers, which are those of this machine".to_owned(),
        Numbering::HostProc(path) => {
            format!("This is a container: processes on GPUs are told by the machine's own {}, by NSpid and the time of their start", path.display())
        }
        Numbering::Foreign => "This is a container, and the driver tells numbers of the machine: a process on a GPU is taken for one watched where it came while \
                               this was watched, or is seen to use the driver (mount the machine's /proc and set HOST_PROC for more)"
            .to_owned(),
    }
}
