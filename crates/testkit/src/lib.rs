//! Dev-only: a temporary world for tests of the whole command.
//!
//! A [`World`] has its own HOME and state, runs the command in an environment that holds nothing of the caller's, tells its own processes from
//! all others, and leaves nothing behind. What is asserted belongs to the tests; nothing here knows what the command should answer.
#![forbid(unsafe_code)]

mod clock;
mod dice;
pub mod endpoint;
mod nvml;
mod process;
mod python;
mod run;
mod skip;
mod sshd;
mod terminal;
mod tree;
mod wait;
mod world;

pub use clock::clock_ahead;
pub use dice::Dice;
pub use nvml::{Nvml, StubGpu};
pub use process::{Process, is_alive, kill};
pub use python::{Python, old_python, python, pythons};
pub use run::{Ran, Run, Running};
pub use rustix::process::Signal;
pub use skip::{Mark, skip};
pub use sshd::Sshd;
pub use terminal::OnTerminal;
pub use tree::{Entry, Tree};
pub use wait::{LIMIT, until};
pub use world::World;
