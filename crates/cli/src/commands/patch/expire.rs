//! Edits whose time is over: a small process of its own that waits for it, and every start of any command.
//!
//! The process has its own session, so that neither the end of the shell nor that of the terminal ends it. It ends when none of the edits is live any
//! more. Where it is killed, or the machine starts again, the next start of any command takes back what is over.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use bystander_edit::{EditError, Recovery, expire_everywhere, registry_status};
use bystander_host::folder_times::FolderTimes;
use bystander_model::patch::EditState;
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

use super::registry_if_there;
use crate::output::Output;

/// What the process is started with.
pub(crate) const ARGUMENT: &str = "--wait-for-expiry";
/// Between two looks at the clock: it may be set, and the machine may sleep.
const LOOK: Duration = Duration::from_secs(60);
/// Between two tries where an edit cannot be taken back now.
const RETRY: Duration = Duration::from_secs(10);
/// So often it is tried; later starts try again.
const TRIES: u32 = 360;

/// Starts the process that waits.
pub(super) fn start(at: Timestamp, output: &Output) {
    let started = || -> std::io::Result<bool> {
        // Also where its file has been replaced meanwhile.
        let mut command = Command::new("/proc/self/exe");
        // It must keep no folder and no terminal busy.
        command.args([ARGUMENT, &at.to_string()]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut ready = Vec::new();
        // It says when it is out of this session; until then the end of the terminal would end it.
        child.stdout.take().map(|mut pipe| pipe.read_to_end(&mut ready)).transpose()?;
        Ok(!ready.is_empty())
    };
    if !started().unwrap_or(false) {
        output.say(
            "warning: nothing waits for the end of the edit's time: the first start of any bystander command after it takes the edit back",
        );
    }
}

/// Waits for a time and takes back what is over then.
pub(crate) fn main() -> ExitCode {
    let Some(at) = std::env::args().nth(2).and_then(|at| at.parse::<Timestamp>().ok()) else { return ExitCode::FAILURE };
    let out_of_session = rustix::process::setsid().is_ok();
    let said = std::io::stdout().write_all(if out_of_session { b"." } else { b"" }).and_then(|()| std::io::stdout().flush());
    // The pipe is closed by putting something else in its place.
    let closed = std::fs::File::open("/dev/null").and_then(|null| Ok(rustix::stdio::dup2_stdout(&null)?));
    if said.is_err() || closed.is_err() {
        return ExitCode::FAILURE;
    }
    let Some(registry) = registry_if_there() else { return ExitCode::FAILURE };
    let mut tries = 0;
    loop {
        let now = Timestamp::now();
        if !has_one_until(&registry, at) {
            return ExitCode::SUCCESS;
        }
        if now < at {
            let left = Duration::try_from(now.duration_until(at)).unwrap_or_default();
            wait_for_change(&registry, left.min(LOOK));
            continue;
        }
        let again = undo(&registry).map_or(true, |recovery| !recovery.failed.iter().all(|error| matches!(error, EditError::Conflict(_))));
        tries += 1;
        if !again || tries >= TRIES {
            return ExitCode::SUCCESS;
        }
        wait_for_change(&registry, RETRY);
    }
}

/// Whether an edit that ends at this time is live.
fn has_one_until(registry: &Path, at: Timestamp) -> bool {
    let at = at.to_string();
    registry_status(registry).is_ok_and(|live| live.iter().any(|edit| edit.expires.as_ref() == Some(&at) && edit.state == EditState::Live))
}

/// Waits until the registry changes, at most so long.
fn wait_for_change(registry: &Path, most: Duration) {
    let watch = || -> rustix::io::Result<()> {
        let queue = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        inotify::add_watch(&queue, registry, inotify::WatchFlags::DELETE | inotify::WatchFlags::DELETE_SELF)?;
        let most = Timespec { tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX), tv_nsec: most.subsec_nanos().into() };
        poll(&mut [PollFd::new(&queue, PollFlags::IN)], Some(&most))?;
        Ok(())
    };
    if watch().is_err() {
        std::thread::sleep(most.min(Duration::from_secs(1)));
    }
}

/// Takes back what is over, at the start of a command, and says so.
pub(crate) fn undo_expired(output: &Output) {
    let Some(registry) = registry_if_there() else { return };
    // What cannot be read is told by whoever needs it.
    let Ok(recovery) = undo(&registry) else { return };
    for done in recovery.reverted {
        output.say(&format!("{}: the time of edit `{}` ({}) was over: {}", done.file.display(), done.name, done.id, done.how));
    }
    for error in recovery.failed {
        output.say(&format!("warning: failed to take back an edit whose time is over: failed to {error}"));
    }
}

fn undo(registry: &Path) -> Result<Recovery, EditError> {
    let live = registry_status(registry).unwrap_or_default();
    let times = FolderTimes::of(live.iter().filter(|edit| edit.expires.is_some()).map(|edit| edit.file.as_path()));
    let done = expire_everywhere(registry);
    // What counts is that the file is as before; its folder's time is a courtesy.
    let _ = times.give_back();
    done
}
