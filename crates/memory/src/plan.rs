//! What a model needs on given cards, before a start.
//!
//! The road: `config.json` → [`config::Config`] → [`shape::Shape`], what was typed → [`setup::Setup`]; then one column for each set of rules.
//! A column that cannot be computed says why: no number is better than a wrong one.

mod activations;
mod architecture;
mod baseline;
pub mod checkpoint;
pub mod config;
pub mod dtype;
mod fractions;
pub mod gpu;
pub mod launch;
mod on_off;
mod refusal;
pub mod setup;
mod sglang;
pub mod shape;
mod stages;
pub mod tensors;
mod vllm;
mod weights;

use bystander_model::memory::{FORMAT, Planned};

use crate::version::Release;
use checkpoint::Checkpoint;
use setup::{Engine, Setup};
use shape::Shape;

pub(crate) use sglang::largest_batch;

pub(crate) const GIB: f64 = 1_073_741_824.0;

/// What is to be planned.
#[derive(Debug, Clone)]
pub struct Question {
    /// The model as it was named.
    pub model: String,
    /// Its shape.
    pub shape: Shape,
    /// Its tensors, where they are known.
    pub checkpoint: Option<Checkpoint>,
    /// How it is to be started.
    pub setup: Setup,
    /// The engines whose columns are wanted, with their releases.
    pub engines: Vec<(Engine, Release)>,
    /// What was read, and from where, in lines.
    pub read: Vec<String>,
}

/// Plans: the architecture's minimum, then each engine that was asked for.
#[must_use]
pub fn plan(question: &Question) -> Planned {
    let mut read = question.read.clone();
    read.extend(question.shape.notes.iter().cloned());
    let mut columns = vec![architecture::column(question)];
    for wanted in [Engine::Sglang, Engine::Vllm] {
        let releases = question.engines.iter().filter(|(engine, _)| *engine == wanted);
        columns.extend(releases.map(|(engine, release)| match engine {
            Engine::Sglang => sglang::column(question, *release),
            Engine::Vllm => vllm::column(question, *release),
        }));
    }
    Planned { format: FORMAT, model: question.model.clone(), read, columns }
}
