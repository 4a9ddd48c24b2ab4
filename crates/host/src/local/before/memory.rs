//! The memory of the machine and its load, where the experiment names limits for them.

use bystander_lab::cause::Contamination;
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_supervise::host_memory;

use super::finding;
use super::words::size;

/// The machine has less memory than the experiment asks for. What cannot be read shows nothing.
pub(super) fn short(plan: &Plan, order: &TrialOrder) -> Option<Contamination> {
    let wanted = plan.conditions.free_memory_bytes?;
    let available = host_memory::available().filter(|available| *available < wanted)?;
    let text = format!(
        "{} of memory are available on this machine, less than the {} that `free_memory` in [conditions] asks for; end what holds it, or lower `free_memory`",
        size(available),
        size(wanted)
    );
    Some(finding(order, "host_memory", "/proc/meminfo", text))
}

/// The machine is busier than the experiment allows.
pub(super) fn busy(plan: &Plan, order: &TrialOrder) -> Option<Contamination> {
    let most = plan.conditions.load?;
    let load = host_memory::load().filter(|load| *load > most)?;
    let text = format!(
        "the load of this machine is {load:.2}, more than the {most} that `load` in [conditions] allows; wait until others are done, or raise `load`"
    );
    Some(finding(order, "load", "/proc/loadavg", text))
}
