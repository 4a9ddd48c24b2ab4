//! The record from outside: what is acknowledged is there, once, whatever happens to the process, the disk or the file.
//!
//! Where a test needs a process of its own, it starts this binary again with its own name and a folder in [`CHILD`].
#![forbid(unsafe_code)]

mod archive;
mod disk;
mod events;
mod fixture;
mod kill;
mod locks;
mod property;
mod state;

/// The variable that holds the folder to work in, in a child process of a test.
const CHILD: &str = "BYSTANDER_TEST_CHILD";
