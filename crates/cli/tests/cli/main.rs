//! The command from outside: real experiments on real processes, what they answer, and what they leave behind.

mod bad_file;
mod bad_machine;
mod broken_print;
mod drifted;
mod fast;
mod fixed;
mod interrupted;
mod keeper;
mod killed;
mod outcomes;
mod resume;
mod secrets;
mod story;
mod world;
