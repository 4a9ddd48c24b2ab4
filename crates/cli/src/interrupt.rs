//! Ctrl-C and its relatives: children end, edits are undone and the record is kept before the command leaves.

use bystander_supervise::Canceller;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::output;

/// Turns SIGINT, SIGTERM, SIGHUP and SIGQUIT into a request to stop. A second one only ends the grace that the program
/// was given: leaving early would leave things behind.
///
/// Each request is counted for `asked`, which is called after it was passed on.
pub(crate) fn canceller(asked: impl Fn(u32) + Send + 'static) -> Result<Canceller, Failure> {
    let canceller = Canceller::new();
    let raised = canceller.clone();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])
        .map_err(|error| Failure::environment("failed to take over Ctrl-C").because(&error))?;
    std::thread::spawn(move || {
        for (count, signal) in (1..).zip(signals.forever()) {
            if let Some(why) = output::lease_over() {
                raised.because(why);
            }
            raised.cancel_by(signal);
            asked(count);
        }
    });
    Ok(canceller)
}
