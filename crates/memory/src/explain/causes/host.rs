//! The host: its memory, and the shared memory of a container.

use bystander_model::memory::{CauseClass, Certainty};

use super::device::no_knob;
use crate::explain::facts::Message;
use crate::explain::{Case, Found, spoken};

/// A process was killed, by the kernel for want of memory or by somebody else.
#[must_use]
pub fn killed(case: &Case<'_>) -> Option<Found> {
    let (by_kernel, message) = match case.facts.message(spoken::OOM_KILLED) {
        Some(message) => (true, message),
        None => (false, case.facts.message(spoken::KILLED)?),
    };
    // A device that ran out of memory first is the cause; the rest is swept up.
    if case.facts.failures.iter().any(|failure| super::device::OutOfMemory::of(failure).is_some()) {
        return None;
    }
    let text = if by_kernel {
        "A process was killed by the kernel for want of host memory: not the memory of the GPU"
    } else {
        "A process was killed from outside, which is what the kernel does where host memory, or the limit of a container, runs out"
    };
    let advice = no_knob(
        "Look at the memory limit of the container and at oom_kill in its memory.events, for every rank; give it more, or keep less on the host (pinned caches, weights that are loaded by all ranks at once).",
    );
    let certainty = if by_kernel { Certainty::Shown } else { Certainty::Likely };
    Some(Found::new(CauseClass::HostMemory, certainty, text, [message.place.clone()]).advise(advice))
}

/// `/dev/shm` is too small.
#[must_use]
pub fn shared_memory(case: &Case<'_>) -> Option<Found> {
    const FULL: [&str; 6] = [
        "Error while creating shared memory segment",
        "No space left on device",
        "Bus error",
        "bus error",
        "shm 64M",
        "insufficient shared memory",
    ];
    let message = case.facts.messages_of(spoken::SHM).find(|message| FULL.iter().any(|said| message.text.contains(said)))?;
    let text = "Shared memory of the host is full: /dev/shm is 64 MiB in a container unless it is told otherwise; this is not GPU memory";
    let advice = no_knob(
        "Look at `df /dev/shm` as the server's process sees it; start the container with --shm-size or --ipc=host, in Kubernetes with an emptyDir of medium Memory on /dev/shm.",
    );
    Some(Found::new(CauseClass::DockerShm, Certainty::Shown, text, [message.place.clone()]).advise(advice))
}

/// A collective operation that never came to its end.
fn timed_out(hang: &Message) -> Found {
    let text = "The ranks waited for each other in a collective operation until a watchdog ended it: one of them did not come to it, or the GPUs do not reach each other; no line says that memory is why";
    let advice = no_knob(
        "Look at what the rank that is behind printed last. Where none is, the way between the GPUs is at fault: try `NCCL_P2P_DISABLE=1` and `--disable-custom-all-reduce` together, and check IOMMU and ACS.",
    );
    Found::new(CauseClass::InterconnectP2p, Certainty::Possible, text, [hang.place.clone()]).advise(advice)
}

/// The way between the GPUs: NCCL could not be set up, or broke.
#[must_use]
pub fn communication(case: &Case<'_>) -> Option<Found> {
    if let Some(hang) =
        case.facts.message(spoken::HANG).filter(|hang| case.facts.failure().is_none_or(|failure| hang.place <= failure.place))
    {
        return Some(timed_out(hang));
    }
    let failure = case.facts.failure()?;
    let said = format!("{} {}", failure.kind, failure.message);
    let is_nccl = said.contains("NCCL error") || said.contains("DistBackendError") || said.contains("peer access is not supported");
    if !is_nccl || said.contains("out of memory") {
        return None;
    }
    if let Some(message) = case.facts.message(spoken::NCCL_MEMORY) {
        let text = "NCCL found no memory on the card for its buffers, which it makes when ranks first talk to each other: what the engine plans for itself leaves too little";
        let advice = no_knob("Lower the engine's share of the card, or find what else holds it (nvidia-smi shows the processes).");
        let places = [message.place.clone(), failure.place.clone()];
        return Some(Found::new(CauseClass::HeadroomOutsideStatic, Certainty::Possible, text, places).advise(advice));
    }
    let text = "The GPUs could not be connected, or lost each other: NCCL reports it, and no line says that memory is why";
    let advice = no_knob(
        "Start once with NCCL_DEBUG=INFO and read its first warning. Between GPUs without peer access disable the custom all-reduce and NCCL_P2P; look at IOMMU and ACS, at the driver, and at /dev/shm of a container.",
    );
    Some(Found::new(CauseClass::InterconnectP2p, Certainty::Possible, text, [failure.place.clone()]).advise(advice))
}
