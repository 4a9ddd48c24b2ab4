//! Verbs that leave a record: `run` and `watch`. It is kept there first, comes back as it grows, and is told from here.
//!
//! The same command finds the one that is still there, whoever was killed meanwhile, and prints on from where it was.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bystander_host::remote::job::Stream;
use bystander_host::remote::message::{Standing, Word};
use bystander_host::remote::mirror::{Mirror, MirrorError, RanOn, file_there};
use bystander_lab::ledger::Ledger;
use bystander_lab::summary;
use bystander_model::report::Report;

use super::ending::Again;
use super::follow::Session;
use super::near::Near;
use super::there::{Asked, There, what};
use super::{Experiment, Wanted, words};
use crate::args::{Args, RunArgs};
use crate::commands::Place;
use crate::failure::Failure;
use crate::output::{Output, clock, on_machine};
use crate::{answered, other_runs, state};

/// What is to be done about a record that has not come back.
const STAYS_THERE: &str = "it stays there; the same command brings it back";
/// Bytes of a report there that are kept: it is printed only where there is nothing to tell from here.
const MOST_SAID: usize = 8 << 20;

/// An experiment as it is sent: its file goes along, and counts as one of that name in the folder there.
pub(super) struct Sent {
    pub(super) asked: Asked,
    counts_as: PathBuf,
}

/// What is sent of a run.
pub(super) fn sent(args: &Args, run: &RunArgs, experiment: &Experiment, wanted: &Wanted, session: &Session) -> Sent {
    let mut body = Vec::new();
    let file = words::along(&run.file, experiment.text.as_bytes(), &mut body);
    let folder = session.opened().home.join(wanted.address.folder.as_deref().unwrap_or(Path::new("")));
    let counts_as = folder.join(run.file.file_name().unwrap_or_default());
    let mut words = vec![Word::of("--state"), Word::of(session.opened().state.clone())];
    words.extend([Word::of("run"), file, Word::of("--counts-as"), Word::of(counts_as.clone())]);
    words.extend(run.aa.then(|| Word::of("--aa")));
    if let Some(seed) = run.seed {
        words.extend([Word::of("--seed"), Word::of(seed.to_string())]);
    }
    // How it is shown makes no other run of it; neither does `--new`, which is no name for one that was begun.
    let what = what(&words, &body);
    let flags = [(args.json, "--json"), (run.why, "--why"), (run.new, "--new"), (run.dry_run, "--dry-run")];
    words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| Word::of(flag)));
    let asked = Asked { verb: "run", words, body, what, anew: run.new, again: Again::GoesOn, is_answer: false };
    Sent { asked, counts_as }
}

/// Runs an experiment there.
pub(super) fn run(args: &Args, run: &RunArgs, experiment: &Experiment, there: &mut There<'_>) -> Result<ExitCode, Failure> {
    let Sent { asked, counts_as } = sent(args, run, experiment, there.wanted, there.session);
    experiment.keep(there.near.state()?)?;
    there.tell_clock()?;
    let mut said = Vec::new();
    let standing = there.carry_out(&asked, &mut |stream, bytes, output| match stream {
        Stream::Err => output.passed_on(false, bytes),
        Stream::Out if said.len() < MOST_SAID => said.extend(bytes),
        Stream::Out => {}
    })?;
    let There { wanted, near, output, .. } = there;
    match newest(near, &file_there(&wanted.address.machine(), &counts_as))? {
        Some((ledger, report)) if has_answered(&standing) => {
            tell(&ledger, &report, run, near, output)?;
            Ok(ExitCode::from(answered::exit_code(&ledger, &report)))
        }
        _ => {
            output.passed_on(true, &said);
            there.code(&standing, Again::GoesOn)
        }
    }
}

/// Whether the command has come to the end that its report tells of.
fn has_answered(standing: &Standing) -> bool {
    matches!(standing, Standing::Ended(end) if matches!(end.code, Some(0 | 1 | 2 | 130)) && end.lease_over_s.is_none() && end.lost_why.is_none())
}

/// Watches a command there.
pub(super) fn watch(there: &mut There<'_>) -> Result<ExitCode, Failure> {
    let (words, body) = words::typed(std::env::args_os().skip(1), &there.session.opened().state)?;
    let (words, anew) = words::without(words, "--new");
    let what = what(&words, &body);
    let asked = Asked { verb: "watch", words, body, what, anew, again: Again::Recorded, is_answer: false };
    let standing = there.carry_out(&asked, &mut |stream, bytes, output| output.passed_on(stream == Stream::Out, bytes))?;
    there.code(&standing, Again::Recorded)
}

impl There<'_> {
    fn tell_clock(&mut self) -> Result<(), Failure> {
        let link = self.session.link()?;
        let (machine, offset) = (link.opened().machine.clone(), link.offset());
        self.output.say(&format!(
            "on {} ({machine}); its clock is {}, and times are given by the clock here",
            self.wanted.address.machine(),
            clock(offset)
        ));
        Ok(())
    }

    /// Brings the record back: events, and files.
    pub(super) fn bring_back(&mut self) -> Result<(), Failure> {
        let state = self.near.state()?;
        // Two commands that end at once would write the same files.
        let _alone = self.near.alone("record", self.session.signals())?;
        let mut store = state::open(state)?;
        let machine = self.wanted.address.machine();
        loop {
            let mut mirror = Mirror { state, store: &mut store, address: machine.clone() };
            let link = self.session.patient()?;
            match mirror.events(link).and_then(|_| mirror.files(link)) {
                Ok(()) => return Ok(()),
                Err(MirrorError::Link(error)) => self.session.lost(&error, "")?,
                Err(error) => {
                    return Err(Failure::environment(format!("failed to bring the record back from {machine}"))
                        .because(&error)
                        .hint(STAYS_THERE));
                }
            }
        }
    }

    /// A failure while the record came back, or that somebody wanted no more of it.
    pub(super) fn unless_halted(&self, failure: Failure) -> Failure {
        if !self.session.signals().is_any_within(Duration::ZERO) {
            return failure;
        }
        let on = self.wanted.address.machine();
        Failure::interrupted(format!("interrupted: the command on {on} has ended, and not all of its record is here")).hint(STAYS_THERE)
    }
}

/// The newest run of a file.
fn newest(near: &Near, file: &Path) -> Result<Option<(Ledger, Report)>, Failure> {
    let store = state::open(near.state()?)?;
    let Some(record) = store.runs_for(file).map_err(|error| state::of_store(&error))?.into_iter().next() else { return Ok(None) };
    let ledger = state::replay(&store, &record)?;
    let report = summary::report_beside(&ledger, &other_runs::of(&store, &ledger.run)?);
    Ok(Some((ledger, report)))
}

/// Prints the report of a run, as `show` does.
fn tell(ledger: &Ledger, report: &Report, run: &RunArgs, near: &Near, output: &mut Output) -> Result<(), Failure> {
    let state = near.state()?;
    let ran = RanOn::of(state, &ledger.run).ok().flatten();
    let report = Report { on: ran.as_ref().map(on_machine), ..report.clone() };
    output.report(&report, run.why.then_some(None), &Place::State(state.clone()));
    if let Some(ran) = ran {
        output.ran_on(&ran);
    }
    Ok(())
}
