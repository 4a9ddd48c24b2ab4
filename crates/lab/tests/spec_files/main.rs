//! Experiment files, from text to a checked plan.

mod bad;
mod disk;
mod example;
mod layout;
mod property;
mod ready;
mod reference;
mod shown;
