//! Plans of real models: what their configurations give by the architecture, by SGLang and by vLLM, and what is refused.

#[path = "plan/ask.rs"]
mod ask;
#[path = "plan/cards.rs"]
mod cards;
#[path = "plan/checkpoints.rs"]
mod checkpoints;
#[path = "plan/engines.rs"]
mod engines;
#[path = "plan/launch.rs"]
mod launch;
#[path = "plan/models.rs"]
mod models;
#[path = "plan/robust.rs"]
mod robust;
#[path = "plan/shapes.rs"]
mod shapes;
#[path = "plan/traps.rs"]
mod traps;
