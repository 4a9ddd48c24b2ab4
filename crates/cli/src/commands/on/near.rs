//! What is kept here of other machines: `remote/` in the state directory.
//!
//! | file | what it holds |
//! |---|---|
//! | `near` | the name that this state directory has at far ends |
//! | `jobs/NAME.json` | a command that was started there and whose end has not been taken |
//! | `experiments/SHA256.toml` | an experiment that was sent, without its secrets |
//! | `hosts/HASH.json` | a machine that was used, and the live edits that it had when it was last asked |

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bystander_host::remote::job::Stream;
use bystander_host::remote::link::Options;
use bystander_host::remote::message::{Screen, Standing, Start, Word};
use bystander_model::address::Address;
use bystander_model::patch::{HostEdits, PatchReport};
use bystander_store::state::write_once;
use bystander_store::{StateDir, output::sha256_hex};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use super::follow::Session;
use super::signals::Pending;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::state;

/// Between two looks whether another process is done.
const LOOK: Duration = Duration::from_millis(50);

/// A command that was started there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) job: String,
    /// The machine and folder.
    pub(super) address: String,
    /// What it was: the hash of its words and files.
    pub(super) what: String,
    /// How much of what it printed was printed here.
    pub(super) printed: u64,
}

/// A machine that was used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    address: String,
    config: Option<PathBuf>,
    /// When it was last asked for its edits.
    asked: Option<jiff::Timestamp>,
    /// The edits that it had then.
    report: Option<PatchReport>,
}

/// What is done there once and leaves nothing goes by this name, where the state directory has none yet.
const PASSING: &str = "passing";

/// The near end's own state.
pub(super) struct Near {
    folder: PathBuf,
    name: String,
    state: Option<StateDir>,
    /// Whether nothing is written here.
    is_passing: bool,
}

impl Near {
    /// That of a state directory.
    pub(super) fn of_state(path: &Path) -> Result<Self, Failure> {
        let state = StateDir::open(path).map_err(|error| state::of_state(&error))?;
        Self::at(state.path().join("remote"), Some(state))
    }

    /// That of the user, for verbs that keep nothing.
    pub(super) fn of_user() -> Result<Self, Failure> {
        let edits = state::registry()?;
        Self::at(edits.parent().unwrap_or(&edits).join("remote"), None)
    }

    /// That of what leaves nothing, neither here nor there; a state directory that is there already gives its name.
    pub(super) fn passing(state: &Path) -> Self {
        let folder = state.join("remote");
        let name = fs::read_to_string(folder.join("near")).map_or_else(|_| PASSING.to_owned(), |name| name.trim().to_owned());
        Self { folder, name, state: None, is_passing: true }
    }

    fn at(folder: PathBuf, state: Option<StateDir>) -> Result<Self, Failure> {
        let file = folder.join("near");
        let made = fs::create_dir_all(folder.join("jobs")).and_then(|()| fs::create_dir_all(folder.join("hosts")));
        let name = made
            .and_then(|()| random())
            .and_then(|name| write_once(&file, name.as_bytes(), 0o600))
            .and_then(|()| fs::read_to_string(&file));
        let name = name.map_err(|error| unwritable(&file, &error))?;
        Ok(Self { folder, name: name.trim().to_owned(), state, is_passing: false })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The state directory; verbs that keep nothing have none.
    pub(super) fn state(&self) -> Result<&StateDir, Failure> {
        self.state.as_ref().ok_or_else(|| Failure::environment("failed to find the state directory"))
    }

    /// A name for a command that nobody has used.
    pub(super) fn new_job(&self, verb: &str) -> String {
        let now = u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0);
        format!("{verb}-{now:x}-{:x}", std::process::id())
    }

    /// The command that was started there as this one and whose end has not been taken.
    pub(super) fn unfinished(&self, address: &Address, what: &str) -> Option<Job> {
        let entries = fs::read_dir(self.folder.join("jobs")).into_iter().flatten().flatten();
        let jobs = entries.filter_map(|entry| serde_json::from_slice::<Job>(&fs::read(entry.path()).ok()?).ok());
        let address = address.to_string();
        jobs.filter(|job| job.address == address && job.what == what).max_by(|one, other| one.job.cmp(&other.job))
    }

    /// Keeps how far a command has come.
    pub(super) fn keep(&self, job: &Job) -> Result<(), Failure> {
        let to = self.folder.join("jobs").join(format!("{}.json", job.job));
        write(&to, job)
    }

    /// Waits until no other process here does the same, and keeps others out until the file that is returned is closed; a signal ends the wait.
    pub(super) fn alone(&self, what: &str, signals: &Pending) -> Result<fs::File, Failure> {
        loop {
            if let Some(file) = lock(&self.folder.join(format!("{what}.lock")))? {
                return Ok(file);
            }
            if signals.is_any_within(LOOK) {
                return Err(Failure::interrupted("interrupted while another process here did the same"));
            }
        }
    }

    /// Takes a command over for this process; a failure where another one follows it.
    pub(super) fn follow(&self, job: &Job) -> Result<fs::File, Failure> {
        lock(&self.folder.join("jobs").join(format!("{}.lock", job.job)))?.ok_or_else(|| {
            Failure::user("failed to follow the command there: another process here follows it already")
                .hint("wait until it ends, or use another --state DIR for one that is not the same")
        })
    }

    /// Takes a command away whose end was taken.
    pub(super) fn done(&self, job: &str) {
        let _unlocked = fs::remove_file(self.folder.join("jobs").join(format!("{job}.lock")));
        // One that stays is looked for there, and found lost.
        let _gone = fs::remove_file(self.folder.join("jobs").join(format!("{job}.json")));
    }

    /// Keeps that a machine is used, before anything is done there.
    pub(super) fn know(&self, address: &Address, config: Option<&Path>) -> Result<(), Failure> {
        if self.is_passing {
            return Ok(());
        }
        let to = self.host(address);
        let known = read(&to).unwrap_or(Known { address: address.machine(), config: None, asked: None, report: None });
        write(&to, &Known { config: config.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned())), ..known })
    }

    /// Asks a machine for its live edits, and keeps what it says; where it says nothing, what was known stays.
    pub(super) fn remember(&self, session: &mut Session, address: &Address) {
        let Ok(report) = ask(session, self) else { return };
        let to = self.host(address);
        if let Some(known) = read(&to) {
            // What is not kept is asked for again.
            let _kept = write(&to, &Known { asked: Some(jiff::Timestamp::now()), report: Some(report), ..known });
        }
    }

    fn host(&self, address: &Address) -> PathBuf {
        self.folder.join("hosts").join(format!("{}.json", &sha256_hex(address.machine().as_bytes())[..16]))
    }
}

/// The live edits on every machine that a state directory knows, also on those that cannot be reached now.
pub(crate) fn elsewhere(state: &StateDir, output: &Output) -> Result<Vec<HostEdits>, Failure> {
    let hosts = state.path().join("remote/hosts");
    if !hosts.is_dir() {
        return Ok(Vec::new());
    }
    let near = Near::at(state.path().join("remote"), Some(state.clone()))?;
    let mut files: Vec<PathBuf> = fs::read_dir(hosts).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut found = Vec::new();
    for known in files.iter().filter_map(|file| read(file)) {
        let Ok(address) = known.address.parse::<Address>() else { continue };
        // Nothing is copied there only to ask.
        let options = Options { config: known.config.clone(), upload: false, near: near.name.clone(), halt: Arc::default() };
        let asked = Session::open(address.clone(), options, output).and_then(|mut session| ask(&mut session, &near));
        found.push(match asked {
            Ok(report) => {
                let kept = Known { asked: Some(jiff::Timestamp::now()), report: Some(report.clone()), ..known };
                write(&near.host(&address), &kept)?;
                HostEdits { address: address.machine(), as_of: None, unreachable: None, report: Box::new(report) }
            }
            Err(failure) if failure.kind == Kind::Interrupted => return Err(failure),
            Err(failure) => HostEdits {
                address: address.machine(),
                as_of: known.asked.map(|asked| asked.to_string()),
                unreachable: Some(failure.causes.first().cloned().unwrap_or(failure.message)),
                report: Box::new(known.report.unwrap_or_default()),
            },
        });
    }
    Ok(found)
}

/// Asks a machine for its live edits.
fn ask(session: &mut Session, near: &Near) -> Result<PatchReport, Failure> {
    let words = ["--json", "--state"].map(Word::of).into_iter().chain([Word::of(session.opened().state.clone())]);
    let words = words.chain(["patch", "status"].map(Word::of)).collect();
    let screen = Screen { clock: session.link()?.offset(), ..Screen::default() };
    let start = Start { job: near.new_job("status"), words, screen, folder: None, lease_s: 60, taken_up: false };
    let mut said = Vec::new();
    let standing = session.carry_out(&start, &[], 0, &mut |stream, bytes| {
        if stream == Stream::Out {
            said.extend(bytes);
        }
    })?;
    session.forget(&start.job)?;
    let unreadable = || Failure::environment("failed to read the live edits there");
    match standing {
        // Nothing else than Ctrl-C here sends it signals.
        Standing::Ended(end) if end.signal.is_some() => {
            Err(Failure::interrupted("interrupted while a machine was asked for its live edits"))
        }
        Standing::Ended(_) => Ok(()),
        Standing::Running | Standing::Lost => Err(unreadable()),
    }?;
    serde_json::from_slice(&said).map_err(|error| unreadable().because(&error))
}

/// Locks a file until what is returned is closed; `None` where another process has it.
fn lock(path: &Path) -> Result<Option<fs::File>, Failure> {
    let file = fs::File::options().create(true).truncate(false).write(true).open(path).map_err(|error| unwritable(path, &error))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(unwritable(path, &errno.into())),
    }
}

fn read(file: &Path) -> Option<Known> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Writes a file, whole or not at all.
fn write(to: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let part = to.with_extension("part");
    let written = serde_json::to_vec_pretty(value).map_err(io::Error::from).and_then(|bytes| fs::write(&part, bytes));
    written.and_then(|()| fs::rename(&part, to)).map_err(|error| unwritable(to, &error))
}

pub(super) fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!("failed to write {}", file.display()))
        .because(error)
        .hint("name a directory that can be written to with --state DIR")
}

/// Sixteen random digits.
fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
