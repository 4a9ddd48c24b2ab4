//! The native recorder: a library for Python processes, compiled when this crate is built and carried as bytes.
//!
//! Its source lies in `native/`, a crate of its own that `build.rs` compiles: it must run in any Python since 3.10, so it has no
//! standard library and no C runtime. What does not belong here: anything that runs in this process.
#![forbid(unsafe_code)]

// So that `cargo fmt` finds the source that `build.rs` compiles.
#[cfg(rustfmt)]
#[path = "../native/recorder.rs"]
mod native;

/// The recorder for this target: a shared object for CPython 3.10 and later, whose module is called `bystander_recorder`.
///
/// `None` where there is none: other systems than Linux with the GNU C library, and 32-bit ones. Probes are served by Python there.
#[cfg(bystander_recorder)]
pub const LIBRARY: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/recorder.so")));
/// There is no recorder for this target: probes are served by Python.
#[cfg(not(bystander_recorder))]
pub const LIBRARY: Option<&[u8]> = None;

/// The name that the library's file must have for the interpreter to find its entry point.
pub const FILE_NAME: &str = "bystander_recorder.abi3.so";
