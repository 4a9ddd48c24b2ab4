//! The supervisor with real processes: each file is one promise.

mod bench;
mod ends;
mod killed;
mod leaks;
mod limit;
mod namespace;
mod output;
mod readiness;
mod ready_lasting;
mod ready_server;
mod ready_word;
mod tree;
