//! The steps of an apply and an undo at which something else may happen: a kill, a full disk.

use std::io;

/// Is told of every step that changes something on disk, right before the next one.
///
/// The journal does nothing with it but ask. Tests use it to end the process, or to fail as a full disk does, at
/// every step in turn.
pub trait Steps: Send + Sync {
    /// Is called when a step is done.
    ///
    /// # Errors
    /// An error is taken as the failure of the step that follows.
    fn reached(&self, step: &'static str) -> io::Result<()>;
}

/// Lets every step go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSteps;

impl Steps for NoSteps {
    fn reached(&self, _step: &'static str) -> io::Result<()> {
        Ok(())
    }
}
