//! What a model needs on given cards, before a start.
//!
//! The road: `config.json` → [`config::Config`] → [`shape::Shape`], what was typed → [`setup::Setup`]; then one column for each set of rules.
//! A column that cannot be computed says why: no number is better than a wrong one.

mod architecture;
pub mod config;
pub mod dtype;
pub mod gpu;
pub mod launch;
pub mod release;
pub mod setup;
pub mod shape;

use bystander_model::memory::{FORMAT, Planned};

use release::Release;
use setup::{Engine, Setup};
use shape::Shape;

/// What is to be planned.
#[derive(Debug, Clone)]
pub struct Question {
    /// The model as it was named.
    pub model: String,
    /// Its shape.
    pub shape: Shape,
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
    let columns = vec![architecture::column(question)];
    Planned { format: FORMAT, model: question.model.clone(), read, columns }
}
