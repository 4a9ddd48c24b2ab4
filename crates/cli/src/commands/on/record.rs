//! Verbs that leave a record: `run` and `watch`. It is kept there first, comes back as it grows, and is told from here.
//!
//! The same command finds the one that is still there, whoever was killed meanwhile, and prints on from where it was.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bystander_host::remote::job::Stream;
use bystander_host::remote::message::{Ask, Standing, Word};
use bystander_host::remote::mirror::{Mirror, MirrorError, RanOn, file_there};
use bystander_lab::ledger::Ledger;
use bystander_lab::summary;
use bystander_model::report::Report;
use bystander_store::output::sha256_hex;

use super::follow::Session;
use super::near::{Job, Near};
use super::{Wanted, code, start, words};
use crate::args::{Args, RunArgs};
use crate::commands::Place;
use crate::failure::Failure;
use crate::output::{Output, clock};
use crate::{answered, other_runs, state};

/// Between two notes of how much was printed: so much may be printed again where this process is killed.
const NOTE: Duration = Duration::from_millis(200);
/// Bytes of a report there that are kept: it is printed only where there is nothing to tell from here.
const MOST_SAID: usize = 8 << 20;

/// An experiment as it is sent: its file goes along, and counts as one of that name in the folder there.
pub(super) struct Sent {
    pub(super) words: Vec<Word>,
    pub(super) body: Vec<u8>,
    counts_as: PathBuf,
    what: String,
}

/// What is sent of a run.
pub(super) fn sent(args: &Args, run: &RunArgs, wanted: &Wanted, session: &Session) -> Result<Sent, Failure> {
    let mut body = Vec::new();
    let file = words::text(&run.file, &mut body)?;
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
    Ok(Sent { words, body, counts_as, what })
}

/// Runs an experiment there.
pub(super) fn run(
    args: &Args,
    run: &RunArgs,
    wanted: &Wanted,
    near: &Near,
    session: &mut Session,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let Sent { words, body, counts_as, what } = sent(args, run, wanted, session)?;
    tell_clock(session, wanted, output)?;
    let mut said = Vec::new();
    let standing = carry_out(&words, &body, &what, run.new, wanted, near, session, output, &mut |stream, bytes, output| match stream {
        Stream::Err => output.passed_on(false, bytes),
        Stream::Out if said.len() < MOST_SAID => said.extend(bytes),
        Stream::Out => {}
    })?;
    match newest(near, &file_there(&wanted.address.machine(), &counts_as))? {
        Some((ledger, report)) if has_answered(&standing) => {
            tell(&ledger, &report, run, near, output)?;
            Ok(ExitCode::from(answered::exit_code(&ledger, &report)))
        }
        _ => {
            output.passed_on(true, &said);
            code(&standing, wanted)
        }
    }
}

/// Whether the command has come to the end that its report tells of.
fn has_answered(standing: &Standing) -> bool {
    matches!(standing, Standing::Ended(end) if matches!(end.code, Some(0 | 1 | 2 | 130)) && !end.abandoned && end.lost_why.is_none())
}

/// Watches a command there.
pub(super) fn watch(wanted: &Wanted, near: &Near, session: &mut Session, output: &mut Output) -> Result<ExitCode, Failure> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (typed, body) = words::typed(words, &session.opened().state)?;
    let what = what(&typed, &body);
    let standing = carry_out(&typed, &body, &what, false, wanted, near, session, output, &mut |stream, bytes, output| {
        output.passed_on(stream == Stream::Out, bytes);
    })?;
    code(&standing, wanted)
}

/// The hash of what is asked for.
fn what(words: &[Word], body: &[u8]) -> String {
    let words = serde_json::to_vec(words).unwrap_or_default();
    sha256_hex(&[words.as_slice(), body].concat())
}

fn tell_clock(session: &mut Session, wanted: &Wanted, output: &Output) -> Result<(), Failure> {
    let (machine, offset) = {
        let link = session.link()?;
        (link.opened().machine.clone(), link.offset())
    };
    output.say(&format!(
        "on {} ({machine}); its clock is {}, and times are given by the clock here",
        wanted.address.machine(),
        clock(offset)
    ));
    Ok(())
}

/// Starts a command or finds it again, follows it to its end, and brings its record back.
#[expect(clippy::too_many_arguments, reason = "the parts of a command there meet here and nowhere else")]
fn carry_out(
    typed: &[Word],
    body: &[u8],
    what: &str,
    anew: bool,
    wanted: &Wanted,
    near: &Near,
    session: &mut Session,
    output: &mut Output,
    printed: &mut dyn FnMut(Stream, &[u8], &mut Output),
) -> Result<Standing, Failure> {
    let found = if anew { None } else { near.unfinished(&wanted.address, what) };
    if let Some(job) = found {
        let _followed = near.follow(&job)?;
        output.say(&format!("the same command was started on {} before: it is taken up where it was", wanted.address.machine()));
        let (standing, job) = follow(job, near, session, output, printed)?;
        bring_back(near, session, wanted)?;
        finish(&job, near, session)?;
        let is_over = matches!(&standing, Standing::Ended(end) if !end.abandoned);
        if is_over {
            return Ok(standing);
        }
        output.say("it was stopped there meanwhile: it is started again, and goes on with what was recorded");
    }
    let (standing, job) = begin(typed, body, what, wanted, near, session, output, printed)?;
    bring_back(near, session, wanted)?;
    finish(&job, near, session)?;
    Ok(standing)
}

#[expect(clippy::too_many_arguments, reason = "as above")]
fn begin(
    typed: &[Word],
    body: &[u8],
    what: &str,
    wanted: &Wanted,
    near: &Near,
    session: &mut Session,
    output: &mut Output,
    printed: &mut dyn FnMut(Stream, &[u8], &mut Output),
) -> Result<(Standing, Job), Failure> {
    let clock = session.link()?.offset();
    let start = start(near.new_job("job"), typed.to_vec(), clock, wanted, near, output);
    let job = Job { job: start.job.clone(), address: wanted.address.to_string(), what: what.to_owned(), printed: 0 };
    // Before anything is there that would have to be found again.
    near.keep(&job)?;
    let _followed = near.follow(&job)?;
    session.retried(&mut |link| link.ask(&Ask::Start(start.clone()), body).map(drop))?;
    follow(job, near, session, output, printed)
}

fn follow(
    mut job: Job,
    near: &Near,
    session: &mut Session,
    output: &mut Output,
    printed: &mut dyn FnMut(Stream, &[u8], &mut Output),
) -> Result<(Standing, Job), Failure> {
    let mut noted = Instant::now();
    let (name, from) = (job.job.clone(), job.printed);
    let standing = session.follow(&name, from, &mut |stream, bytes, at| {
        printed(stream, bytes, output);
        job.printed = at;
        if noted.elapsed() >= NOTE {
            noted = Instant::now();
            // What is not noted is printed again, at worst.
            let _noted = near.keep(&job);
        }
    })?;
    Ok((standing, job))
}

/// Brings the record back: events, and files.
fn bring_back(near: &Near, session: &mut Session, wanted: &Wanted) -> Result<(), Failure> {
    let state = near.state()?;
    // Two commands that end at once would write the same files.
    let _alone = near.alone("record")?;
    let mut store = state::open(state)?;
    loop {
        let mut mirror = Mirror { state, store: &mut store, address: wanted.address.machine() };
        let copied = match session.link() {
            Ok(link) => mirror.events(link).and_then(|_| mirror.files(link)),
            Err(failure) => return Err(failure),
        };
        match copied {
            Ok(()) => return Ok(()),
            Err(MirrorError::Link(error)) => session.lost(&error)?,
            Err(error) => {
                return Err(Failure::environment(format!("failed to bring the record back from {}", wanted.address.machine()))
                    .because(&error)
                    .hint("it stays there; the same command brings it back"));
            }
        }
    }
}

fn finish(job: &Job, near: &Near, session: &mut Session) -> Result<(), Failure> {
    session.forget(&job.job)?;
    near.done(&job.job);
    Ok(())
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
    output.report(report, run.why.then_some(None), &Place::State(state.clone()));
    if let Ok(Some(ran)) = RanOn::of(state, &ledger.run) {
        output.say(&format!("ran on {} ({}); its clock: {}", ran.address, ran.machine, clock(ran.offset)));
    }
    Ok(())
}
