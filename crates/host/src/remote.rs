//! Another machine, reached over SSH: the same executable runs there, beside the program, and does everything that it does here.
//!
//! The **near end** is the command that a user types. The **far end** has two processes of the same executable: the *agent*, which lives as long as one
//! connection and speaks the protocol ([`message`], in [`frame`]s, over the standard streams of an SSH channel); and, for each command, a *warden*,
//! which outlives every connection: it starts the command, writes down what it prints, and ends it where nobody has asked for it within its lease.
//!
//! So the link may break at any time: what a command does and prints is on the far disk first, a new connection follows from where the last one was,
//! and the record of a run is copied by the numbers of its events ([`mirror`]). See `docs/design/remote.md`.

pub mod agent;
mod cleared;
pub mod clock;
mod far;
mod follow;
pub mod frame;
pub mod job;
pub mod link;
pub mod message;
pub mod mirror;
mod scratch;
mod sweep;
mod upload;
pub mod warden;
mod whole;

use std::fs::File;
use std::io::{self, Read as _};

/// This executable, also when its file has been replaced or removed since it was started.
const OWN: &str = "/proc/self/exe";

/// Sixteen random digits, for a name that nothing else has.
///
/// # Errors
/// The system gives no random bytes.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
