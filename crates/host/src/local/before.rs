//! What is looked at before a launch: whether the machine is such that the launch can be a data point.
//!
//! A port that is held and a leftover of an earlier trial void the launch: nothing makes them go but somebody who ends them. Memory and load can come right
//! by themselves and are waited for. What is found is told with what to do about it. Nothing is ended by its name.

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
    let patience = Instant::now() + LINGERS.min(plan.conditions.settle);
    let mut found = hard(place, plan, order, entered, emit)?;
    // What is being ended right now needs a moment to be gone.
    while !found.is_empty() && Instant::now() < patience && !place.canceller.is_cancelled() {
        std::thread::sleep(FIRST_PAUSE);
        found = hard(place, plan, order, entered, emit)?;
    }
    if !found.is_empty() {
        found.iter().try_for_each(|found| tell(found, emit))?;
        return Ok(Before { found, gpus: Vec::new() });
    }
    let until = Instant::now() + plan.conditions.settle;
    let mut pause = FIRST_PAUSE;
    let mut told = false;
    loop {
        let gpus = gpus::look_at(gpus);
        let mut found = gpus::held(plan, order, place, &gpus);
        found.extend(memory::short(plan, order));
        found.extend(memory::busy(plan, order));
        let left = until.saturating_duration_since(Instant::now());
        let Some(first) = found.first() else { return Ok(Before { found, gpus }) };
        if left.is_zero() || place.canceller.is_cancelled() {
            found.iter().try_for_each(|found| tell(found, emit))?;
            return Ok(Before { found, gpus });
        }
        place.live.waits(order.trial, &first.text);
        if !std::mem::replace(&mut told, true) {
            let text = format!("waiting up to {}: {}", words::span(plan.conditions.settle), first.text);
            emit(EventBody::Note { text })?;
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(PAUSE);
    }
}

/// What does not go by itself: ports that are held, leftovers that are alive.
fn hard(
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
