//! The memory that the experiment asks for, against what the machine has at all: no launch would ever be a data point.

use bystander_lab::plan::Plan;
use bystander_model::diagnostic::Diagnostic;
use bystander_supervise::host_memory;

use crate::local::before::words::size;

/// Refuses to ask for more free memory than there is memory.
pub(super) fn check(plan: &Plan, problems: &mut Vec<Diagnostic>) {
    let (Some(wanted), Some(total)) = (plan.conditions.free_memory_bytes, host_memory::total()) else { return };
    if wanted <= total {
        return;
    }
    let message = format!(
        "`free_memory` in [conditions] asks for {} of memory, and this machine has {} in all: every launch would be void",
        size(wanted),
        size(total)
    );
    let mut problem = Diagnostic::error("conditions.free_memory", message).help("lower `free_memory`, or run on a larger machine");
    problem.file = Some(plan.file.clone());
    problems.push(problem);
}
