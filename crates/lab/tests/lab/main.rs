//! The run loop and the verdicts over a place that is scripted: what is launched, when a run stops, what is answered, and that a run which is
//! killed anywhere gives the same answers.

mod aa;
mod answers;
mod cached;
mod claims;
mod cold;
mod combinations;
mod configurations;
mod exclusions;
mod exploratory;
mod lanes;
mod loops;
mod metrics;
mod null;
mod old_logs;
mod open_ended;
mod order;
mod resume;
mod scripted;
mod settling;
mod superseded;
mod survivors;
mod unanswered;
mod unasked;
mod volume;
