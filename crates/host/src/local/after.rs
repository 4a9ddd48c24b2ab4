//! What is waited for after a trial: that the memory of its GPUs is as it was before it, and that the driver lists none of its processes any more.
//!
//! Its processes are gone by then. The driver gives their memory back a moment later; where it does not, this trial says so, and the next one on the
//! same GPU is no data point until it has come back.

pub(super) mod others;

use std::time::{Duration, Instant};

use bystander_lab::place::{Emit, RecordRefused, TrialOrder};
use bystander_lab::plan::Plan;
use bystander_model::event::EventBody;
use bystander_model::evidence::Evidence;
use bystander_model::samples::{KnownBy, Samples};
use bystander_supervise::gpu::Gpu;

use super::LocalPlace;
use super::before::gpus;
use super::before::grounds::Owed;
use super::before::words::{size, span};
use crate::secrets;

/// The memory of a GPU goes up and down by so much without anybody's doing.
const TOLERANCE: u64 = 128 << 20;
/// Between two looks.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until the memory of the trial's GPUs is back, at most as long as the experiment says; gives what is to be said of the trial where it is not.
pub(super) fn settle(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    before: &[Gpu],
    processes: &[u32],
    samples: Option<&mut Samples>,
    emit: &mut Emit<'_>,
) -> Result<Vec<Evidence>, RecordRefused> {
    let uuids: Vec<String> = before.iter().map(|gpu| gpu.uuid.clone()).collect();
    if uuids.is_empty() {
        return Ok(Vec::new());
    }
    let mut own = samples.as_ref().map(|samples| pids(samples)).unwrap_or_default();
    own.extend(processes);
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    let (now, missing, listed) = loop {
        let now = gpus::look_at(&uuids);
        let missing = missing_on(before, &now, &own);
        let left = plan.conditions.settle.saturating_sub(started.elapsed());
        let listed = listed(before, &now, &own);
        if (missing.is_empty() && listed.is_empty()) || left.is_zero() || place.canceller.is_cancelled() {
            break (now, missing, listed);
        }
        if let Some((gpu, pid)) = listed.first() {
            place.live.waits(order.trial, &format!("process {pid} to be gone from the list of GPU {gpu}"));
        } else if let Some((gpu, bytes)) = missing.first() {
            place.live.waits(order.trial, &format!("{} on GPU {} to be given back", size(*bytes), gpu.index));
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(PAUSE);
    };
    if let Some(samples) = samples {
        for seen in &mut samples.gpus {
            seen.after_bytes = now.iter().find(|gpu| gpu.uuid == seen.uuid).map(|gpu| gpu.held_bytes);
        }
    }
    let mut said = Vec::new();
    for (gpu, pid) in listed {
        let text = format!(
            "GPU {gpu}: the driver still listed process {pid} of this trial {} after the last one was gone",
            span(started.elapsed())
        );
        emit(EventBody::Note { text: text.clone() })?;
        said.push(Evidence::sample(order.trial, &format!("nvml GPU {gpu}"), &text));
    }
    for (gpu, bytes) in missing {
        let waited = span(started.elapsed());
        let text = format!(
            "GPU {} ({}): {} were not given back {waited} after the last process was gone: {}",
            gpu.index,
            gpu.name,
            size(bytes),
            gpus::holders(&gpu)
        );
        emit(EventBody::Note { text: text.clone() })?;
        said.push(Evidence::sample(order.trial, &format!("nvml GPU {}", gpu.index), &text));
        let held = before.iter().find(|known| known.uuid == gpu.uuid).map_or(0, |known| known.held_bytes);
        place.grounds.owes(&gpu.uuid, Owed { trial: order.trial, before: held });
    }
    Ok(said)
}

/// Samples whose titles hold no secret any more.
pub(super) fn without_secrets(mut samples: Samples, hidden: &[String]) -> Samples {
    let hush = |title: &mut String| *title = secrets::blot(&secrets::masked_title(title), hidden).into_owned();
    samples.processes.iter_mut().for_each(|process| hush(&mut process.title));
    samples.gpus.iter_mut().flat_map(|gpu| &mut gpu.processes).filter_map(|process| process.title.as_mut()).for_each(hush);
    samples
}

/// The numbers that the trial's processes had on GPUs.
fn pids(samples: &Samples) -> Vec<u32> {
    let all = samples.gpus.iter().flat_map(|gpu| &gpu.processes);
    all.filter(|process| process.known_by != KnownBy::Other).map(|process| process.pid).collect()
}

/// Processes of the trial that the driver still lists, each with the index of its GPU. One that it listed before the trial is somebody else's.
fn listed(before: &[Gpu], now: &[Gpu], own: &[u32]) -> Vec<(u32, u32)> {
    let of = |gpu: &Gpu| {
        let then = before.iter().find(|known| known.uuid == gpu.uuid);
        let was_there = |pid: u32| then.is_some_and(|then| then.holders.iter().any(|holder| holder.host_pid == pid));
        let pids = gpu.holders.iter().map(|holder| holder.host_pid).filter(|pid| own.contains(pid) && !was_there(*pid));
        pids.map(|pid| (gpu.index, pid)).collect::<Vec<_>>()
    };
    now.iter().flat_map(of).collect()
}

fn missing_on(before: &[Gpu], now: &[Gpu], own: &[u32]) -> Vec<(Gpu, u64)> {
    let of = |gpu: &Gpu| {
        let then = before.iter().find(|known| known.uuid == gpu.uuid)?;
        let theirs = grown_by_others(then, gpu, own);
        missing(gpu, then.held_bytes.saturating_add(theirs)).map(|bytes| (gpu.clone(), bytes))
    };
    now.iter().filter_map(of).collect()
}

/// What others have taken since, by the driver's own account: it is theirs to give back.
fn grown_by_others(then: &Gpu, now: &Gpu, own: &[u32]) -> u64 {
    let others = now.holders.iter().filter(|holder| !own.contains(&holder.host_pid));
    others
        .map(|holder| {
            let known = then.holders.iter().find(|known| known.host_pid == holder.host_pid).and_then(|known| known.bytes).unwrap_or(0);
            holder.bytes.unwrap_or(0).saturating_sub(known)
        })
        .sum()
}

/// How much more is held than `before`, where that is more than comes and goes by itself.
pub(super) fn missing(gpu: &Gpu, before: u64) -> Option<u64> {
    let more = gpu.held_bytes.saturating_sub(before);
    (more > TOLERANCE).then_some(more)
}
