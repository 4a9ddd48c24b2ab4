//! Words for what is said of memory in more than one place: of a watch and of a trial.

use bystander_model::samples::{GpuSamples, Moment, Stray, StrayWhy};

use crate::number::{self, size};
use crate::prose::{clean, count, shorten};

/// Stray processes that are named one by one.
const NAMED: usize = 3;

/// A phase as people read it.
pub(crate) fn phase(name: &str) -> String {
    clean(&name.replace('_', " "))
}

/// `, at 41 s in graph capture`, or nothing.
pub(crate) fn moment(moment: Option<&Moment>) -> String {
    let Some(moment) = moment else { return String::new() };
    let within = moment.phase.as_ref().map_or_else(String::new, |name| format!(" in {}", phase(name)));
    format!(", at {}{within}", number::seconds(moment.at_s))
}

/// A title of a process with the name of its program instead of its path.
pub(crate) fn title(title: &str, columns: usize) -> String {
    let title = clean(title);
    let (program, arguments) = title.split_once(' ').unwrap_or((&title, ""));
    let name = program.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(program);
    shorten(format!("{name} {arguments}").trim_end(), columns)
}

/// More processes on a GPU than ranks, in a sentence; `None` where there are none.
pub(crate) fn strays(gpu: &GpuSamples) -> Option<String> {
    if gpu.strays.is_empty() {
        return None;
    }
    let strays = gpu.strays.len();
    let bytes: Option<u64> = gpu.strays.iter().map(|stray| stray.bytes).sum();
    let each = if strays == 1 { "it has a context of its own there" } else { "each has a context of its own there" };
    let held = bytes.map_or_else(String::new, |bytes| format!(", with {}", size(bytes)));
    let named: Vec<String> = gpu.strays.iter().take(NAMED).map(stray).collect();
    let more = strays.saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    let than = count(strays, "process more than ranks", "processes more than ranks");
    Some(format!("stray contexts on GPU {}: {than}{held} ({each}): {}{more}", gpu.index, named.join("; ")))
}

fn stray(stray: &Stray) -> String {
    let bytes = stray.bytes.map_or_else(String::new, |bytes| format!(" {}", size(bytes)));
    let why = match stray.why {
        StrayWhy::AtHomeOn { index } => format!("most of its memory is on GPU {index}"),
        StrayWhy::BesideRank { pid } => format!("beside pid {pid}"),
        StrayWhy::Uncounted => "the driver tells no memory of it".to_owned(),
    };
    format!("pid {}{bytes}, {why}", stray.pid)
}

/// That the driver does not tell the memory of processes, in a sentence; `None` where it does.
pub(crate) fn untold(gpu: &GpuSamples) -> Option<String> {
    let untold = gpu.processes.iter().filter(|process| process.peak_bytes.is_none()).count();
    let of = count(untold, "process", "processes");
    (untold > 0).then(|| {
        format!(
            "the driver does not tell how much {of} on GPU {} {} (as under WDDM, in WSL, or without permission): only what the GPU holds in all is known",
            gpu.index,
            if untold == 1 { "holds" } else { "hold" }
        )
    })
}
