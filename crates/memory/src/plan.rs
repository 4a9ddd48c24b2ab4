//! What a model needs on given cards, before a start.
//!
//! The road: `config.json` → [`config::Config`] → [`shape::Shape`], what was typed → [`setup::Setup`]; then one column for each set of rules.
//! A column that cannot be computed says why: no number is better than a wrong one.

mod activations;
mod architecture;
mod baseline;
pub mod checkpoint;
pub mod config;
pub mod count;
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

use bystander_model::memory::{Column, FORMAT, Planned};

use crate::figures::whole;
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
    read.extend(full_request(question));
    let mut columns = vec![architecture::column(question)];
    for wanted in [Engine::Sglang, Engine::Vllm] {
        let releases = question.engines.iter().filter(|(engine, _)| *engine == wanted);
        columns.extend(releases.map(|(engine, release)| match engine {
            Engine::Sglang => sglang::column(question, *release),
            Engine::Vllm => vllm::column(question, *release),
        }));
    }
    if let Some(named) = unknown_dtype(question) {
        columns.iter_mut().for_each(|column| without_numbers(column, named));
    }
    Planned { format: FORMAT, model: question.model.clone(), read, columns }
}

/// How long a request of full length is.
fn full_request(question: &Question) -> Option<String> {
    let said = |tokens: u64, why: &str| format!("a request of full length: {} tokens, {why}", whole(tokens as f64));
    let asked = question.setup.context.map(|tokens| said(tokens, "as asked for"));
    asked.or_else(|| question.shape.context.map(|tokens| said(tokens, "the most that the configuration says")))
}

/// The kind of numbers that a configuration names, of the model or of its draft, where it is none that is known and the command names no other.
fn unknown_dtype(question: &Question) -> Option<&str> {
    let draft = question.setup.speculation.as_ref().and_then(|speculation| speculation.draft.as_ref());
    let shapes = std::iter::once(&question.shape).chain(draft);
    shapes.filter_map(|shape| shape.unknown_dtype.as_deref()).find(|_| !question.setup.has_dtype)
}

/// Takes out all that hangs on the kind of numbers that the model is computed in.
fn without_numbers(column: &mut Column, named: &str) {
    let why = format!(
        "{named} is no kind of numbers to compute in that is known here: what a token and the weights take hangs on it (--dtype in a command after `--` names another)"
    );
    *column = Column {
        name: std::mem::take(&mut column.name),
        version: std::mem::take(&mut column.version),
        refused: column.refused.take(),
        not_modelled: vec![why],
        ..Column::default()
    };
}
