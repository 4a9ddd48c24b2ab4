//! Programs of other people, probed: what they do is the same as without, and the probe sees what they did.

mod experiment;
mod real;
mod server;
mod sglang;
mod standard_library;
mod torch;
mod watched;
mod workers;
