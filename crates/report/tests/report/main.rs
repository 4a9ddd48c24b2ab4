//! The renderings from outside: a run like the story's and one like the mended one, problems, patches, events, and the JSON contract.
#![forbid(unsafe_code)]

mod beside;
mod contract;
mod diagnostics;
mod edge;
mod events;
mod fixed;
mod fixture;
mod memory_watch;
mod patch;
mod screen;
mod story;
mod watch;
mod words;
