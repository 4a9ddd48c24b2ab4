//! What is looked at before a launch: whether the machine is such that the launch can be a data point.
//!
//! Whatever is found can come right, by itself or because somebody who is told of it ends it: it is waited for, and voids the launch if it stays. It is told
//! with what to do about it. Nothing is ended by its name.

pub(crate) mod gpus;
pub(super) mod grounds;
mod leftovers;
mod memory;
mod ports;
pub(crate) mod words;

use std::time::{Duration, Instant};

use bystander_lab::cause::Contamination;
use bystander_lab::place::{Emit, RecordRefused, TrialOrder};
use bystander_lab::plan::Plan;
use bystander_model::event::EventBody;
use bystander_model::evidence::Evidence;
use bystander_supervise::gpu::Gpu;

use super::LocalPlace;
use grounds::Entered;

/// Between two looks at what may come right by itself.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(500);
/// So long may a process that is being ended linger.
const LINGERS: Duration = Duration::from_secs(2);

/// What a look before a launch found.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// What makes the launch void.
    pub(super) found: Vec<Contamination>,
    /// The GPUs of the trial as they stand.
    pub(super) gpus: Vec<Gpu>,
}

/// Looks at the machine before a launch, and waits for what may come right by itself. `gpus` are those of the trial, by UUID.
pub(super) fn look(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    entered: &Entered<'_>,
    gpus: &[String],
    emit: &mut Emit<'_>,
) -> Result<Before, RecordRefused> {
    let (begin, mut pause, mut told) = (Instant::now(), FIRST_PAUSE, false);
    let until = begin + plan.conditions.settle;
    loop {
        let mut found = holders(place, plan, order, entered, emit)?;
        let is_held = !found.is_empty();
        let gpus = if is_held { Vec::new() } else { gpus::look_at(gpus) };
        if !is_held {
            found.extend(gpus::held(plan, order, place, &gpus));
            found.extend(memory::short(plan, order));
            found.extend(memory::busy(plan, order));
        }
        let left = until.saturating_duration_since(Instant::now());
        let Some(first) = found.first() else { return Ok(Before { found, gpus }) };
        if left.is_zero() || place.canceller.is_cancelled() {
            found.iter().try_for_each(|found| tell(found, emit))?;
            return Ok(Before { found, gpus });
        }
        place.live.waits(order.trial, &first.text);
        // What is being ended right now is gone in a moment.
        let is_going = is_held && begin.elapsed() < LINGERS;
        if !is_going && !std::mem::replace(&mut told, true) {
            let text = format!("waiting up to {}: {}", words::span(plan.conditions.settle), first.text);
            emit(EventBody::Note { text })?;
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(PAUSE);
    }
}

/// Ports that are held, leftovers that are alive. Whoever is told of them can end them while they are waited for, and a stranger's program may end by itself.
fn holders(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    entered: &Entered<'_>,
    emit: &mut Emit<'_>,
) -> Result<Vec<Contamination>, RecordRefused> {
    let (left, ended) = leftovers::alive(plan, order, place, entered);
    ended.into_iter().try_for_each(|text| emit(EventBody::Note { text }))?;
    let mut found = ports::held(plan, order, place);
    found.extend(left);
    Ok(found)
}

fn tell(found: &Contamination, emit: &mut Emit<'_>) -> Result<(), RecordRefused> {
    emit(EventBody::Note { text: format!("not launched: {}", found.text) })
}

/// A finding with where it was seen.
fn finding(order: &TrialOrder, class: &str, seen_at: &str, text: String) -> Contamination {
    Contamination { class: class.to_owned(), evidence: vec![Evidence::sample(order.trial, seen_at, &text)], text }
}
