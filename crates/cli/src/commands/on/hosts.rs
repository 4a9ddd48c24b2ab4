//! The machines that a state directory knows, and the live edits of each: asked now, or as they were last seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bystander_host::remote::job::Stream;
use bystander_host::remote::link::{Opened, Options};
use bystander_host::remote::message::{Screen, Standing, Start, Word};
use bystander_model::address::Address;
use bystander_model::patch::{EditState, HostEdits, PatchReport};
use bystander_model::typed;
use bystander_store::{StateDir, output::sha256_hex};
use serde::{Deserialize, Serialize};

use super::follow::Session;
use super::jobs::new_name;
use super::near::{Near, write};
use super::signals::Pending;
use crate::failure::{Failure, Kind};
use crate::output::{self, Output};

/// By so much a signal to this process may come later than to the SSH that it started.
const SIGNAL: Duration = Duration::from_millis(50);

/// A machine that was used.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    address: String,
    config: Option<PathBuf>,
    /// What tells the machine and the user's state there from all others, whatever the address; `None` where it does not say.
    #[serde(default)]
    identity: Option<String>,
    /// What tells it and its user's state from all others, also after it was started anew; `None` where it does not say.
    #[serde(default)]
    state_id: Option<String>,
    /// Whether something else answered at this address since.
    #[serde(default)]
    superseded: bool,
    /// When it was last asked for its edits.
    asked: Option<jiff::Timestamp>,
    /// The edits that it had then.
    report: Option<PatchReport>,
}

/// What is said of edits that whoever answers at an address now knows nothing of.
const SOMETHING_ELSE: &str =
    "another machine answers at its address now, or one whose state directory was removed; `patch verify` there finds what is left";

impl Known {
    fn new(address: String) -> Self {
        Self { address, config: None, identity: None, state_id: None, superseded: false, asked: None, report: None }
    }

    /// Whether what has answered is another machine, or has another state, than what is known here.
    fn is_other(&self, opened: &Opened) -> bool {
        matches!((&self.state_id, &opened.state_id), (Some(known), Some(found)) if known != found)
    }

    fn has_live_edits(&self) -> bool {
        let report = self.report.as_ref();
        report.is_some_and(|report| report.edits.iter().any(|edit| edit.state != EditState::Reverted))
    }

    /// With what has answered; what cannot be told of it stays as it was known.
    fn answered(self, opened: &Opened) -> Self {
        let identity = opened.identity.clone();
        Self { identity, state_id: opened.state_id.clone().or(self.state_id), ..self }
    }

    /// Where it is kept, below the near end's folder.
    fn file(&self, near: &Path) -> PathBuf {
        match self.state_id.as_deref().filter(|_| self.superseded) {
            Some(id) => file(near, &format!("{} {id}", self.address)),
            None => file(near, &self.address),
        }
    }

    /// What it was seen to have.
    fn seen(self, state: &StateDir, asked: bool, unreachable: Option<String>) -> HostEdits {
        HostEdits {
            command: self.command(state),
            address: self.address,
            also: Vec::new(),
            asked,
            as_of: self.asked.map(|asked| asked.to_string()),
            unreachable,
            report: Box::new(self.report.unwrap_or_default()),
        }
    }

    /// How a verb of `patch` is typed for it.
    fn command(&self, state: &StateDir) -> String {
        typed::at(&self.way(state), "patch")
    }

    fn way(&self, state: &StateDir) -> String {
        way(&typed::quoted(&self.address), self.config.as_deref(), &output::state_option(state.path()))
    }
}

/// The options with which a verb works on a machine: its address as a shell takes it, the configuration of SSH, and the option of the state directory.
pub(super) fn way(address: &str, config: Option<&Path>, state: &str) -> String {
    let config = config.map_or_else(String::new, |file| format!(" --ssh-config {}", typed::quoted(file)));
    format!(" --on {address}{config}{state}")
}

/// Keeps that a machine is used, before anything is done there.
pub(super) fn know(near: &Near, address: &Address, config: Option<&Path>, opened: &Opened) -> Result<(), Failure> {
    if near.is_passing() {
        return Ok(());
    }
    let to = file(near.folder(), &address.machine());
    let mut known = read(&to).unwrap_or_else(|| Known::new(address.machine()));
    if known.is_other(opened) {
        keep_apart(near, known)?;
        known = Known::new(address.machine());
    }
    let config = config.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    write(&to, &Known { config, ..known.answered(opened) })
}

/// Keeps what was seen live where an address does not lead any more: it stays live, whoever answers there.
fn keep_apart(near: &Near, known: Known) -> Result<(), Failure> {
    if !known.has_live_edits() {
        return Ok(());
    }
    let known = Known { superseded: true, ..known };
    write(&known.file(near.folder()), &known)
}

/// Asks a machine for its live edits, and keeps what it says; where it says nothing, what was known stays.
pub(super) fn remember(near: &Near, session: &mut Session, address: &Address) {
    let to = file(near.folder(), &address.machine());
    let (Some(known), Ok(state)) = (read(&to), near.state()) else { return };
    if let Ok(report) = ask(session, &known.address, known.way(state)) {
        // What is not kept is asked for again.
        let _kept = write(&to, &Known { asked: Some(jiff::Timestamp::now()), report: Some(report), ..known });
    }
}

/// The live edits on every machine that a state directory knows, also on those that cannot be reached now. A machine that has two addresses is asked once.
pub(crate) fn elsewhere(state: &StateDir, output: &Output) -> Result<Vec<HostEdits>, Failure> {
    let all = known(state);
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let near = Near::of_state(state.path())?;
    let signals = Pending::take_over()?;
    let mut found: Vec<(Option<String>, HostEdits)> = Vec::new();
    for mut known in all {
        let Ok(address) = known.address.parse::<Address>() else { continue };
        // Nothing is copied there only to ask.
        let options =
            Options { config: known.config.clone(), upload: false, near: near.name().to_owned(), visits: false, halt: Arc::default() };
        let asked = Session::open(&address, options, output).and_then(|mut session| {
            // One whose link breaks is told as one that cannot be asked.
            session.leave();
            let identity = session.opened().identity.clone();
            if known.is_other(session.opened()) {
                let now = Known { config: known.config.clone(), ..Known::new(known.address.clone()) };
                let before = std::mem::replace(&mut known, now);
                let is_asked_by_its_own_entry = before.superseded;
                if before.has_live_edits() {
                    keep_apart(&near, before.clone())?;
                    found.push((None, before.seen(state, true, Some(SOMETHING_ELSE.to_owned()))));
                }
                if is_asked_by_its_own_entry {
                    return Ok(None);
                }
            }
            known = known.clone().answered(session.opened());
            let before = found.iter().find(|(other, host)| identity.is_some() && *other == identity && host.unreachable.is_none());
            let report = match before {
                Some((_, host)) => *host.report.clone(),
                None => ask(&mut session, &known.address, known.way(state))?,
            };
            Ok(Some((identity, report)))
        });
        found.push(match asked {
            Ok(None) => continue,
            Ok(Some((identity, report))) => {
                let kept = Known { asked: Some(jiff::Timestamp::now()), report: Some(report), ..known };
                let to = kept.file(near.folder());
                if kept.superseded && !kept.has_live_edits() {
                    // It is listed for its live edits alone; one that stays is asked again.
                    let _gone = fs::remove_file(&to);
                } else {
                    write(&to, &kept)?;
                }
                (identity, HostEdits { as_of: None, ..kept.seen(state, true, None) })
            }
            Err(failure) if failure.kind == Kind::Interrupted => return Err(failure),
            // Ctrl-C in a terminal also ends the SSH below: that it broke is no word about the machine.
            Err(_) if signals.is_any_within(SIGNAL) => {
                return Err(Failure::interrupted(format!("interrupted while {} was asked for its live edits", address.machine())));
            }
            Err(failure) => {
                let why = failure.causes.first().cloned().unwrap_or(failure.message);
                (known.identity.clone(), known.seen(state, true, Some(why)))
            }
        });
    }
    Ok(merged(found))
}

/// What was last seen of every machine that a state directory knows; nobody is asked.
pub(crate) fn last_seen(state: Option<&StateDir>) -> Vec<HostEdits> {
    let Some(state) = state else { return Vec::new() };
    merged(known(state).into_iter().map(|known| (known.identity.clone(), known.seen(state, false, None))).collect())
}

/// The options with which a verb works on a machine that a state directory knows.
pub(crate) fn way_to(state: &StateDir, address: &str) -> String {
    match read(&file(&state.path().join("remote"), address)) {
        Some(known) => known.way(state),
        None => way(&typed::quoted(address), None, &output::state_option(state.path())),
    }
}

/// One entry for each machine, with every address that it has: of several that are the same, what is known best.
fn merged(found: Vec<(Option<String>, HostEdits)>) -> Vec<HostEdits> {
    let mut all: Vec<(Option<String>, HostEdits)> = Vec::new();
    for (identity, host) in found {
        match all.iter_mut().find(|(other, _)| identity.is_some() && *other == identity) {
            None => all.push((identity, host)),
            Some((_, kept)) => {
                let newer = age(&host) > age(kept);
                let (mut best, other) = if newer { (host, kept.clone()) } else { (kept.clone(), host) };
                best.also.extend(std::iter::once(other.address).chain(other.also));
                // One whose address led elsewhere for a time is known twice by it.
                best.also.retain(|also| *also != best.address);
                best.also.sort();
                best.also.dedup();
                *kept = best;
            }
        }
    }
    all.into_iter().map(|(_, host)| host).collect()
}

/// What is told now comes last, what was never seen first.
fn age(host: &HostEdits) -> (bool, Option<jiff::Timestamp>) {
    (host.asked && host.unreachable.is_none(), host.as_of.as_ref().and_then(|time| time.parse().ok()))
}

/// Asks a machine for its live edits.
fn ask(session: &mut Session, address: &str, way: String) -> Result<PatchReport, Failure> {
    let words = ["--json", "--state"].map(Word::of).into_iter().chain([Word::of(session.opened().state.clone())]);
    let words = words.chain(["patch", "status"].map(Word::of)).collect();
    let screen = Screen { clock: session.link()?.offset(), way, address: address.to_owned(), ..Screen::default() };
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

/// The machines of a state directory, in the order of their files.
fn known(state: &StateDir) -> Vec<Known> {
    let entries = fs::read_dir(state.path().join("remote/hosts")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| read(file)).collect()
}

/// Where a machine is kept, below the near end's folder.
fn file(near: &Path, machine: &str) -> PathBuf {
    near.join("hosts").join(format!("{}.json", &sha256_hex(machine.as_bytes())[..16]))
}

fn read(file: &Path) -> Option<Known> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use bystander_model::patch::{HostEdits, PatchReport};

    use super::merged;

    fn host(address: &str, as_of: Option<&str>, unreachable: Option<&str>) -> HostEdits {
        HostEdits {
            address: address.to_owned(),
            also: Vec::new(),
            command: String::new(),
            asked: true,
            as_of: as_of.map(str::to_owned),
            unreachable: unreachable.map(str::to_owned),
            report: Box::new(PatchReport { format: u32::try_from(address.len()).expect("short"), ..PatchReport::default() }),
        }
    }

    #[test]
    fn a_machine_of_several_addresses_is_one_and_what_is_known_best_of_it_is_told() {
        let id = |text: &str| Some(text.to_owned());
        let found = vec![
            (id("one"), host("ssh://b", Some("2026-01-02T00:00:00.5Z"), Some("no answer"))),
            (id("one"), host("ssh://a", None, None)),
            (None, host("ssh://c", None, Some("no answer"))),
            (None, host("ssh://d", None, Some("no answer"))),
            (id("one"), host("ssh://e", Some("2026-01-02T00:00:00.25Z"), Some("no answer"))),
        ];
        let told: Vec<(String, Vec<String>)> = merged(found).into_iter().map(|host| (host.address, host.also)).collect();
        let text = |address: &str| address.to_owned();
        let one = (text("ssh://a"), vec![text("ssh://b"), text("ssh://e")]);
        assert_eq!(told, [one, (text("ssh://c"), Vec::new()), (text("ssh://d"), Vec::new())]);
    }
}
