//! The GPUs of a trial: which they are, and what is held on them before it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use bystander_lab::cause::Contamination;
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_supervise::gpu::{self, Driver, Gpu, GpuHolder, NoDriver};

use super::finding;
use super::words::{self, size};
use crate::local::LocalPlace;
use crate::local::after;

/// The variable by which CUDA is told which GPUs there are.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The code of a GPU that is named and not there.
const PROBLEM: &str = "conditions.gpus";
/// So many holders are named.
const NAMED: usize = 4;

/// The GPUs of a trial, by UUID: those of its lane, of the experiment, of its environment, or else all.
pub(in crate::local) fn of_trial(plan: &Plan, order: &TrialOrder, env: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let lane = plan.lane(order.slot.lane).map(|lane| lane.gpus.iter().map(u32::to_string).collect::<Vec<_>>());
    let names = lane.as_ref().or(plan.conditions.gpus.as_ref());
    if names.is_some_and(Vec::is_empty) {
        return Vec::new();
    }
    let Ok(driver) = gpu::driver() else { return Vec::new() };
    let all = driver.known();
    let chosen = match (names, env.get(OsStr::new(VISIBLE))) {
        // Names that none has were refused with the plan.
        (Some(names), _) => gpu::named(names, all, Some(driver)).unwrap_or_default(),
        (None, Some(value)) => gpu::visible(&value.to_string_lossy(), all, Some(driver)),
        (None, None) => all.iter().collect(),
    };
    chosen.into_iter().map(|gpu| gpu.uuid.clone()).collect()
}

/// Refuses a plan that names GPUs that are not there, in its conditions or for its lanes.
pub(in crate::local) fn check(plan: &Plan) -> Vec<Diagnostic> {
    let conditions = plan.conditions.gpus.iter().filter(|names| !names.is_empty());
    let of_conditions = conditions.filter_map(|names| match gpu::driver() {
        Err(error) => {
            let problem = format!("`gpus` in [conditions] names GPUs, and there is no NVIDIA driver here{}", why(error));
            Some(Diagnostic::error(PROBLEM, problem).help("run it where the GPUs are, or leave `gpus` out"))
        }
        Ok(driver) => not_there(names, driver, "`gpus` in [conditions]"),
    });
    of_conditions.chain(of_lanes(plan)).collect()
}

/// The same of the lanes. A program that sees no GPU by NVML may have some of another maker, so that without a driver nothing is refused.
fn of_lanes(plan: &Plan) -> Option<Diagnostic> {
    let names: Vec<String> = plan.lanes.iter().flat_map(|lane| &lane.gpus).map(u32::to_string).collect();
    if names.is_empty() {
        return None;
    }
    match gpu::driver() {
        Err(error) => {
            let said = format!("the GPUs of `parallel` in [plan] were not checked: there is no NVIDIA driver here{}", why(error));
            Some(Diagnostic::warning("plan.gpus_unchecked", said))
        }
        Ok(driver) => not_there(&names, driver, "`parallel` in [plan]"),
    }
}

fn why(error: &NoDriver) -> String {
    std::error::Error::source(error).map_or_else(String::new, |why| format!(" ({why})"))
}

/// The first of the names that no GPU here has.
fn not_there(names: &[String], driver: &Driver, place: &str) -> Option<Diagnostic> {
    let look = driver.look();
    let silent = look.silent.first().map(|(index, why)| format!("GPU {index} does not answer: {why}"));
    let error = gpu::named(names, &look.gpus, Some(driver)).err()?;
    let problem = Diagnostic::error(PROBLEM, format!("failed to {error}; {place} names it"));
    Some(problem.help(silent.unwrap_or_else(|| "`nvidia-smi -L` lists the GPUs of this machine".to_owned())))
}

/// The GPUs as they stand now; those that do not answer are left out.
pub(in crate::local) fn look_at(uuids: &[String]) -> Vec<Gpu> {
    if uuids.is_empty() {
        return Vec::new();
    }
    gpu::driver().map(|driver| driver.look_at(uuids)).unwrap_or_default()
}

/// Every GPU of the trial on which too much is held.
pub(super) fn held(plan: &Plan, order: &TrialOrder, place: &LocalPlace, gpus: &[Gpu]) -> Vec<Contamination> {
    gpus.iter().filter_map(|gpu| not_returned(order, place, gpu).or_else(|| too_much(plan, order, gpu))).collect()
}

/// Memory that an earlier trial of this run had and has not given back.
fn not_returned(order: &TrialOrder, place: &LocalPlace, gpu: &Gpu) -> Option<Contamination> {
    let owed = place.grounds.owed(&gpu.uuid)?;
    let still = after::missing(gpu, owed.before);
    let Some(missing) = still else {
        place.grounds.paid(&gpu.uuid);
        return None;
    };
    let text = format!(
        "GPU {} ({}): {} that trial {} of this run had are still held though its processes are gone: {}; \
         look for what holds it outside the trial's processes (nvidia-smi, containers), or wait",
        gpu.index,
        gpu.name,
        size(missing),
        owed.trial,
        holders(gpu)
    );
    Some(finding(order, "memory_not_returned", &format!("nvml GPU {}", gpu.index), text))
}

fn too_much(plan: &Plan, order: &TrialOrder, gpu: &Gpu) -> Option<Contamination> {
    let allowed = plan.conditions.gpu_memory_bytes;
    if gpu.held_bytes <= allowed {
        return None;
    }
    let class = if gpu.holders.is_empty() { "gpu_memory_held.unseen" } else { "gpu_memory_held" };
    let text = format!(
        "GPU {} ({}) holds {} before the launch, more than the {} that `gpu_memory` in [conditions] allows: {}; \
         end what is left over, wait, name other GPUs (`gpus`), or say that the program uses none (`gpus = []`)",
        gpu.index,
        gpu.name,
        size(gpu.held_bytes),
        size(allowed),
        holders(gpu)
    );
    Some(finding(order, class, &format!("nvml GPU {}", gpu.index), text))
}

/// Who holds the memory of a GPU, in words.
pub(crate) fn holders(gpu: &Gpu) -> String {
    if gpu.holders.is_empty() {
        return "no process is visible on it: it is held from another container, or a process that died has left it in the driver"
            .to_owned();
    }
    let mut said: Vec<String> = gpu.holders.iter().take(NAMED).map(holder).collect();
    if gpu.holders.len() > NAMED {
        said.push(format!("{} more", gpu.holders.len() - NAMED));
    }
    said.join(", ")
}

fn holder(holder: &GpuHolder) -> String {
    let bytes = holder.bytes.map_or_else(|| "an unknown part".to_owned(), size);
    match &holder.process {
        Some(process) => format!("{bytes} by {}", words::process(process)),
        None => format!("{bytes} by pid {} of the machine, which is not visible here", holder.host_pid),
    }
}
