//! OpenAI-compatible load and its measurements: one thread, one loop over sockets, no framework between a token and its time stamp.
//!
//! [`run`] asks a server as a [`Load`](bystander_model::traffic::Load) says and gives a [`Summary`](bystander_model::traffic::Summary). It runs in a
//! process of its own ([`ARGUMENT`]), so that the supervision of a trial is not disturbed and the client's processor time is its own. Plain HTTP only.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod arrivals;
mod client;
mod clock;
mod connection;
mod decode;
mod discover;
mod fault;
pub mod hold;
mod http;
mod measure;
mod phase;
mod poller;
mod prompts;
mod request;
mod run;
mod sse;
mod summary;
mod words;

pub use self::address::{Address, AddressError};
pub use self::client::{ClientError, LOAD, SUMMARY, client};
pub use self::fault::Fault;
pub use self::http::{HttpError, Response};
pub use self::prompts::{PromptError, check as check_prompts};
pub use self::run::{Progress, RunError, effective_seed, run};
pub use self::sse::{Event, Oversized, Scanner};

/// The argument by which the executable learns that it is to be the client of a load; the folder that holds the load, and its
/// results then, follows.
pub const ARGUMENT: &str = "__traffic";
