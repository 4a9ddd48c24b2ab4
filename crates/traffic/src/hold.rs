//! Between the warm-up and the measured requests: whoever laid the load may look at the server before it goes on.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The file in the folder of results that asks the client to stop after its warm-up.
const ASKED: &str = "hold";
/// The same file once it has stopped; it goes on as soon as this is gone.
const HELD: &str = "held";
/// It goes on all the same after this: a look that takes longer must not cost the measurement.
const AT_MOST: Duration = Duration::from_secs(60);
const TURN: Duration = Duration::from_millis(2);

/// Asks the client of a folder to stop after its warm-up.
///
/// # Errors
/// Where the folder takes no file.
pub fn ask(folder: &Path) -> io::Result<()> {
    std::fs::write(folder.join(ASKED), "")
}

/// Whether the client of a folder has stopped after its warm-up.
#[must_use]
pub fn is_held(folder: &Path) -> bool {
    folder.join(HELD).exists()
}

/// Lets the client of a folder go on.
///
/// # Errors
/// Where it cannot be told; it goes on by itself after a minute.
pub fn release(folder: &Path) -> io::Result<()> {
    std::fs::remove_file(folder.join(HELD))
}

/// Stops where it was asked to, until it is released or the load is to end.
pub(crate) fn stop(folder: &Path, end: &AtomicBool) {
    let held = folder.join(HELD);
    if std::fs::rename(folder.join(ASKED), &held).is_err() {
        return;
    }
    let until = Instant::now() + AT_MOST;
    while held.exists() && Instant::now() < until && !end.load(Ordering::Relaxed) {
        std::thread::sleep(TURN);
    }
}
