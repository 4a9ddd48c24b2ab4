//! The supervisor with real processes: each file is one promise.

mod bench;
mod ends;
mod killed;
mod leaks;
mod output;
mod readiness;
mod tree;
