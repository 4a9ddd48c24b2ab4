//! The supervisor with real processes: each file is one promise.

mod bench;
mod ends;
