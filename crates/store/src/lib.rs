//! The record of runs: a state directory, the SQLite database in it, the files beside it, and the locks on them.
//!
//! Every event is recorded before it is shown, and once however often it is sent. Nothing here knows what an event means beyond the status of
//! its run; folding events into a report belongs to the lab, rendering to the report crate. Times are nanoseconds since the Unix epoch.
#![forbid(unsafe_code)]

pub mod archive;
mod connect;
pub mod kept;
pub mod lock;
mod migrate;
pub mod output;
mod query;
mod record;
mod reserve;
pub mod run_id;
pub mod runs;
mod sqlite;
pub mod state;

pub use lock::{LockError, RunLock};
pub use query::Events;
pub use record::Store;
pub use reserve::Reserve;
pub use runs::{RunRecord, RunStatus};
pub use sqlite::StoreError;
pub use state::{StateDir, StateError};
