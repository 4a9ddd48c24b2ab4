//! Edits on real files: made, undone, killed half-way, changed by others, next to bytecode.

mod bytecode;
mod changed;
mod crash;
mod flow;
mod identity;
mod journal;
mod kept;
mod meanwhile;
mod patches;
mod prepare;
mod registry;
mod stacked;
mod world;
