//! What is kept here of other machines: `remote/` in the state directory.
//!
//! | file | what it holds |
//! |---|---|
//! | `near` | the name that this state directory has at far ends |
//! | `jobs/NAME.json` | a command that was asked for there and whose end was not told ([`super::jobs`]) |
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
use serde::{Deserialize, Serialize};

use super::follow::Session;
use super::jobs::{Jobs, lock, new_name};
use super::signals::Pending;
use crate::failure::{Failure, Kind};
use crate::output::Output;
use crate::state;

/// Between two looks whether another process is done.
const LOOK: Duration = Duration::from_millis(50);

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

    /// What was asked for and not told.
    pub(super) fn jobs(&self) -> Jobs {
        Jobs::at(self.folder.join("jobs"))
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
        let Ok(report) = ask(session) else { return };
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
        let asked = Session::open(address.clone(), options, output).and_then(|mut session| {
            // One whose link breaks is told as one that cannot be asked.
            session.leave();
            ask(&mut session)
        });
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
fn ask(session: &mut Session) -> Result<PatchReport, Failure> {
    let words = ["--json", "--state"].map(Word::of).into_iter().chain([Word::of(session.opened().state.clone())]);
    let words = words.chain(["patch", "status"].map(Word::of)).collect();
    let screen = Screen { clock: session.link()?.offset(), ..Screen::default() };
    let start = Start { job: new_name("status"), words, screen, folder: None, lease_s: 60, taken_up: false };
    let mut said = Vec::new();
    let standing = session.carry_out(&start, &[], 0, &mut |stream, bytes| {
        if stream == Stream::Out {
            said.extend(bytes);
        }
    })?;
    session.forget(&start.job);
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

fn read(file: &Path) -> Option<Known> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Writes a file, whole or not at all.
pub(super) fn write(to: &Path, value: &impl Serialize) -> Result<(), Failure> {
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
