//! The run loop and the verdicts over a place that is scripted: what is launched, when a run stops, what is answered, and that a run which is
//! killed anywhere gives the same answers.

mod answers;
mod loops;
mod metrics;
mod resume;
mod scripted;
