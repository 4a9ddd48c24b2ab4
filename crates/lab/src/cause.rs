//! Why a trial ended: from its output and the facts about its processes to an outcome, a cause and a signature.
//!
//! The road is [`Scanner`] (line by line, bounded memory) → [`TrialFacts`] → [`classify`]. Readers of engines come in through [`CauseReader`].
//! Nothing here runs, waits or reads output by itself. No conclusion is drawn from a line that is missing.

mod added;
mod assemble;
mod blame;
mod classify;
mod clip;
mod crash;
mod distinct;
mod early;
mod echo;
mod ended;
mod facts;
mod fate;
mod first;
mod hang_up;
mod hints;
mod kept;
mod mask;
mod memory;
mod part;
mod prefix;
mod program;
mod reader;
mod requests;
mod root;
mod scan;
mod scheduler;
mod severity;
mod shape;
mod sieve;
mod signals;
mod signature;
mod standstill;
mod starved;
mod traceback;
mod work;

pub use blame::{Blame, Spot, blame};
pub use classify::{Classification, classify};
pub use crash::Crash;
pub use facts::{
    Contamination, MemoryEvents, PartDied, Place, PortHolder, Progress, ReadySeen, Refusal, StopWhy, Stopped, TrialFacts, Unanswering,
    WorkloadEnd,
};
pub use fate::ends_it;
pub use first::first_cause;
pub use kept::KeptLine;
pub use mask::mask;
pub use program::program_frame;
pub use reader::CauseReader;
pub use scan::{Scan, Scanner};
pub use signals::signal_name;
pub use signature::signature;
pub use standstill::{Standing, StandingThread, Standstill};
pub use starved::Starved;
pub use traceback::{Frame, Link, Raised, Traceback};
