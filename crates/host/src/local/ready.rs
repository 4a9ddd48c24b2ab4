//! Readiness of one trial: from the plan's conditions to those of the supervisor, and from its proof to evidence; and whether the declared treatment
//! is seen in the program.

mod near;
mod proof;
mod receipts;
mod spec;
mod treatment;

pub(super) use proof::evidence;
pub(super) use receipts::evidence as receipts;
pub(super) use spec::{hidden, spec};
pub(super) use treatment::Treatments;
