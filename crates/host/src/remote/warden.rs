//! The warden: a hidden process at the far end, one for each command, that outlives every connection.
//!
//! It is in a session of its own. It starts the command, writes down what that prints, passes signals on, and stops it once no near end has been there for
//! as long as its lease says: by SIGINT, at which a command undoes its edits and ends its programs, then by a second one, and by SIGKILL in the end.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bystander_model::typed::{self, Reach};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::OWN;
use super::cleared;
use super::job::{self, Job, Order, Stream};
use super::message::{JobEnd, path};

/// The first argument of a warden.
pub const ARGUMENT: &str = "far-warden";
/// The first argument of a command that a warden starts; its screen in JSON, the file that says that its lease is over, and the command's words follow.
pub const JOB_ARGUMENT: &str = "far-job";

/// Between two looks at the lease.
const LOOK: Duration = Duration::from_millis(500);
/// After SIGINT, until the next step is taken: a trial's grace and the undoing of edits take less.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long output is waited for whose command has ended: something that it has left may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The exit code of a command of this executable that has met a fault of its own.
const PANICKED: i32 = 101;
/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// Runs as a warden of the command in a folder, which follows the argument.
#[must_use]
pub fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(2) else { return ExitCode::FAILURE };
    match run(&Job::at(Path::new(&folder))) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody is left to tell: whoever asks finds the command lost.
        Err(_unheard) => ExitCode::FAILURE,
    }
}

fn run(job: &Job) -> io::Result<()> {
    // A connection that ends must take nothing along.
    rustix::process::setsid()?;
    let Some(_held) = job.take()? else { return Ok(()) };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    io::stdout().write_all(job::READY)?;
    io::stdout().flush()?;
    // The agent waits for no more.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let order = job.order()?;
    // What it says of what a killed command has left is read by who typed that.
    typed::reach(Reach { there: order.screen.way.clone(), here: order.screen.again.clone() });
    let kept = Arc::new(Mutex::new(Kept { file: job.output_to_write()?, lost_bytes: 0, lost_why: None }));
    let mut child = match start(&job.lease_over(), &order) {
        Ok(child) => child,
        Err(error) => {
            let folder = path(&order.folder);
            let why = if folder.is_dir() { error.to_string() } else { format!("there is no folder {} there", folder.display()) };
            return job.write_end(&JobEnd { unstarted: Some(why), ..end(None, &kept) });
        }
    };
    let running = Arc::new(Mutex::new(Some(pid(&child))));
    let passed_on = Arc::clone(&running);
    thread::spawn(move || {
        for signal in signals.forever() {
            send(&passed_on, Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
    });
    let (reading, read) = mpsc::channel();
    if let Some(from) = child.stdout.take() {
        reader(from, Stream::Out, &kept, reading.clone());
    }
    if let Some(from) = child.stderr.take() {
        reader(from, Stream::Err, &kept, reading);
    }
    let id = child.id();
    let (status, is_over) = await_end(child, &running, job, Duration::from_secs(order.lease_s))?;
    // One that was killed could take nothing back, and end nothing; what holds its streams goes with it.
    let cleared = (status.signal().is_some() || status.code() == Some(PANICKED)).then(|| Box::new(cleared::clear(job.state(), id)));
    // It comes to an end when both readers have let go of their side.
    let _end = read.recv_timeout(LAST_WORDS);
    job.write_end(&JobEnd { lease_over_s: is_over.then_some(order.lease_s), cleared, ..end(Some(status), &kept) })
}

/// Starts the command with this executable. It ends by SIGINT where its warden is killed: it asks for that itself.
pub(super) fn start(lease_over: &Path, order: &Order) -> io::Result<Child> {
    Command::new(OWN)
        .arg(JOB_ARGUMENT)
        .arg(serde_json::to_string(&order.screen)?)
        .arg(lease_over)
        .args(job::words(order))
        // Of the connection that started it, which it outlives: two connections must not differ for the program.
        .env_remove("SSH_CLIENT")
        .env_remove("SSH_CONNECTION")
        .env_remove("SSH_TTY")
        .env_remove("SSH_AUTH_SOCK")
        .current_dir(path(&order.folder))
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// What was printed, on its way to the disk.
struct Kept {
    file: File,
    lost_bytes: u64,
    lost_why: Option<String>,
}

/// Writes down what comes from a pipe. Where the disk is full it goes on reading: the command must not stand still for it.
fn reader(mut from: impl Read + Send + 'static, stream: Stream, kept: &Arc<Mutex<Kept>>, reading: Sender<()>) {
    let kept = Arc::clone(kept);
    thread::spawn(move || {
        let _reading = reading;
        let mut buffer = vec![0; BUFFER];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => keep(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), stream, &buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
}

/// Writes one record. Once one was lost, all that follow are: half a record would make the rest unreadable, and a gap in the middle would be a lie.
fn keep(kept: &mut Kept, stream: Stream, bytes: &[u8]) {
    if kept.lost_bytes == 0 {
        let before = kept.file.metadata().map(|found| found.len());
        match job::write_record(&mut kept.file, stream, bytes) {
            Ok(()) => return,
            Err(error) => kept.lost_why = Some(error.to_string()),
        }
        if let Ok(length) = before {
            // A record that was begun would be waited for.
            let _shortened = kept.file.set_len(length);
        }
    }
    kept.lost_bytes += bytes.len() as u64;
}

fn end(status: Option<ExitStatus>, kept: &Mutex<Kept>) -> JobEnd {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    JobEnd {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        lease_over_s: None,
        unstarted: None,
        lost_bytes: kept.lost_bytes,
        lost_why: kept.lost_why.clone(),
        cleared: None,
    }
}

/// Waits for the end of the command, and brings it about where its lease runs out.
fn await_end(mut child: Child, running: &Arc<Mutex<Option<Pid>>>, job: &Job, lease: Duration) -> io::Result<(ExitStatus, bool)> {
    let (ended, wait) = mpsc::channel();
    let waited = Arc::clone(running);
    let id = pid(&child);
    thread::spawn(move || {
        // It is not reaped before nobody can send it a signal any more: its number may be another's then.
        let _seen = rustix::process::waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        waited.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _nobody_waits = ended.send(child.wait());
    });
    let mut lease = Lease { length: lease, seen: job.renewed().unwrap_or(SystemTime::UNIX_EPOCH), since: Instant::now(), asked: 0 };
    loop {
        match wait.recv_timeout(LOOK) {
            Ok(status) => return Ok((status?, lease.asked > 0)),
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the command was not waited for")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(signal) = lease.look(Instant::now(), job.renewed().ok()) {
            if lease.asked == 1 {
                // Without the note it says that it was stopped, and not by what.
                let _noted = job.note_lease_over();
            }
            send(running, signal);
        }
    }
}

/// How long nobody has asked for the command. It is counted here: clocks of the disk and of the machine may jump.
struct Lease {
    length: Duration,
    seen: SystemTime,
    since: Instant,
    asked: u32,
}

impl Lease {
    /// Takes what the file says, and gives the signal that is due.
    fn look(&mut self, now: Instant, renewed: Option<SystemTime>) -> Option<Signal> {
        if let Some(renewed) = renewed
            && renewed != self.seen
            && self.asked == 0
        {
            (self.seen, self.since) = (renewed, now);
        }
        let due = self.length + PATIENCE * self.asked;
        if now.duration_since(self.since) < due {
            return None;
        }
        self.asked += 1;
        Some(if self.asked <= 2 { Signal::INT } else { Signal::KILL })
    }
}

fn send(running: &Mutex<Option<Pid>>, signal: Signal) {
    if let Some(pid) = *running.lock().unwrap_or_else(PoisonError::into_inner) {
        // One that ends in this moment needs none.
        let _ended = kill_process(pid, signal);
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use rustix::process::Signal;

    use super::{Lease, PATIENCE};

    #[test]
    fn a_lease_ends_by_steps_and_only_where_nobody_renews_it() {
        let (start, seen, length) = (Instant::now(), SystemTime::UNIX_EPOCH, Duration::from_secs(1800));
        let mut lease = Lease { length, seen, since: start, asked: 0 };
        let second = Duration::from_secs(1);
        assert_eq!(lease.look(start + length - second, Some(seen)), None);
        assert_eq!(lease.look(start + length, Some(seen - second)), None, "it was renewed, whatever the clock says");
        let renewed = start + length;
        assert_eq!(lease.look(renewed + length, Some(seen - second)), Some(Signal::INT));
        assert_eq!(lease.look(renewed + length + second, Some(seen)), None, "it is too late to renew it");
        assert_eq!(lease.look(renewed + length + PATIENCE, Some(seen)), Some(Signal::INT));
        assert_eq!(lease.look(renewed + length + PATIENCE * 2, Some(seen)), Some(Signal::KILL));
    }
}
