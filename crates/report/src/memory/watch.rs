//! What `memory watch` saw, on one screen: the answer, what is wrong, the chart, phases, processes, and what looking has cost.

mod lanes;
mod live;
mod phases;
mod processes;
pub(crate) mod words;

use bystander_model::memory::{SamplingCost, WatchEnding, WatchedMemory, WatchedSubject};
use bystander_model::samples::GpuSamples;

pub use live::{memory_live, memory_pulse};

use crate::number::{self, size};
use crate::page::Page;
use crate::prose::{clean, shorten};
use crate::style::{Role, Style};
use words::moment;

/// Renders what was seen.
#[must_use]
pub fn memory_watch_text(watched: &WatchedMemory, style: &Style) -> String {
    let mut page = Page::new(style);
    page.led("", Some(role(watched)), 0, &format!("{}: {}.", ended(watched), answer(watched)));
    for note in notes(watched) {
        page.led("note: ", None, 6, &note);
    }
    lanes::write(&mut page, watched);
    phases::write(&mut page, &watched.samples);
    processes::write(&mut page, watched);
    page.line("");
    page.paragraph(&cost(&watched.cost, watched));
    page.finish()
}

fn role(watched: &WatchedMemory) -> Role {
    match watched.ending {
        WatchEnding::CommandEnded if watched.exit == Some(0) => Role::Good,
        WatchEnding::CommandEnded => Role::Bad,
        WatchEnding::ProcessEnded | WatchEnding::TimeOver | WatchEnding::Interrupted => Role::Heading,
    }
}

fn ended(watched: &WatchedMemory) -> String {
    let after = number::seconds(watched.wall_s);
    let what = match &watched.what {
        WatchedSubject::Machine if watched.no_gpus.is_some() => "this machine".to_owned(),
        WatchedSubject::Machine => "the GPUs of this machine".to_owned(),
        WatchedSubject::Process { pid, title } => format!("pid {pid} (`{}`)", shorten(&clean(title), 50)),
        WatchedSubject::Command { command, .. } => format!("`{}`", shorten(&clean(&command.join(" ")), 60)),
    };
    let status = match (watched.exit, watched.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an end that is not known".to_owned(),
    };
    match (watched.ending, &watched.what) {
        (WatchEnding::CommandEnded, _) => format!("{what} ended with {status} after {after}"),
        (WatchEnding::ProcessEnded, _) => format!("{what} ended after {after} of watching"),
        (WatchEnding::Interrupted, WatchedSubject::Command { .. }) => match &watched.why {
            Some(why) => format!("{what} was stopped after {after} ({status}): {}", clean(why)),
            None => format!("{what} was stopped by you ({status}) after {after}"),
        },
        (WatchEnding::Interrupted, _) if watched.why.is_some() => {
            format!("{what}, watched for {after}, until {}", clean(watched.why.as_deref().unwrap_or_default()))
        }
        (WatchEnding::Interrupted | WatchEnding::TimeOver, _) => format!("{what}, watched for {after}"),
    }
}

/// The peak that matters most: of the GPU that came closest to being full, else of the processes.
fn answer(watched: &WatchedMemory) -> String {
    let samples = &watched.samples;
    let share = |gpu: &&GpuSamples| (gpu.peak_bytes.unwrap_or(0) as f64 / gpu.total_bytes.max(1) as f64 * 1e6) as u64;
    let fullest = samples.gpus.iter().filter(|gpu| gpu.peak_bytes.is_some()).max_by_key(|gpu| (share(gpu), std::cmp::Reverse(gpu.index)));
    if let Some((gpu, peak)) = fullest.and_then(|gpu| Some((gpu, gpu.peak_bytes?))) {
        let (of, comma) = if samples.gpus.len() > 1 { ("the fullest GPU, ", ",") } else { ("", "") };
        let end = gpu.last_bytes.map_or_else(String::new, |end| format!("; {} at the end", size(end)));
        return format!(
            "{of}GPU {}{comma} held at most {} of {}{}{end}",
            gpu.index,
            size(peak),
            size(gpu.total_bytes),
            moment(gpu.peak_at.as_ref())
        );
    }
    match samples.peak_rss_bytes.filter(|_| watched.what != WatchedSubject::Machine) {
        Some(peak) => format!("its processes held at most {} together{}", size(peak), moment(samples.peak_rss_at.as_ref())),
        None => match (samples.least_available_bytes, watched.machine_bytes) {
            (Some(least), Some(all)) => format!("at least {} of {} were left to the machine", size(least), size(all)),
            _ => "no sample saw any memory".to_owned(),
        },
    }
}

/// What is to be known before figures are believed.
fn notes(watched: &WatchedMemory) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    notes.extend(watched.no_gpus.as_ref().map(|why| format!("nothing is known of GPUs ({}); this is the memory of the host", clean(why))));
    for gpu in &watched.samples.gpus {
        notes.extend(words::strays(gpu));
        notes.extend(words::untold(gpu));
        notes.extend(gpu.silent_from_s.map(|from| format!("GPU {} did not answer any more from {} on", gpu.index, number::seconds(from))));
    }
    notes.extend(watched.notes.iter().map(|note| clean(note)));
    notes
}

fn cost(cost: &SamplingCost, watched: &WatchedMemory) -> String {
    let gpus = if cost.gpu_samples == 0 {
        String::new()
    } else {
        format!("; {} of all GPUs, {} each, {} at most", count(cost.gpu_samples), ms(cost.gpu_mean_ms), ms(cost.gpu_worst_ms))
    };
    let told = watched.told_by.as_ref().map_or_else(String::new, |told| format!(" {}.", clean(told)));
    format!(
        "Every {}: {} of the host, {} each{gpus}; {:.2} % of a processor in all. What rose and fell between two samples is not seen.{told}",
        number::seconds(watched.interval_s),
        count(cost.samples),
        ms(cost.mean_ms),
        cost.processor_share * 100.0
    )
}

fn count(n: u64) -> String {
    crate::prose::count(usize::try_from(n).unwrap_or(usize::MAX), "sample", "samples")
}

fn ms(ms: f64) -> String {
    if ms < 9.95 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}
