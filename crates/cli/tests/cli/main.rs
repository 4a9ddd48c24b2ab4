//! The command from outside: real experiments on real processes, what they answer, and what they leave behind.

mod broken_print;
mod drifted;
mod fast;
mod fixed;
mod interrupted;
mod keeper;
mod killed;
mod resume;
mod story;
mod world;
