//! The supervisor with real processes: each file is one promise.

mod bench;
mod ends;
mod killed;
mod leaks;
mod namespace;
mod output;
mod readiness;
mod tree;
