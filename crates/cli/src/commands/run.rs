//! `bystander run`: an experiment from its file to its answers; or a run that was stopped, taken up where it stood.

mod hook;
mod resume;

use std::path::Path;
use std::process::ExitCode;

use bystander_host::local::LocalPlace;
use bystander_host::secrets::Masker;
use bystander_lab::conduct;
use bystander_lab::design::aa;
use bystander_lab::ledger::Ledger;
use bystander_lab::live::Live;
use bystander_lab::place::{Checkup, LabError, Place as _};
use bystander_lab::plan::{Kind, Plan, Refused};
use bystander_lab::{spec, summary};
use bystander_model::diagnostic::{Diagnostic, Severity};
use bystander_model::event::{EventBody, RunEnd, Session};
use bystander_model::ids::TimeNs;
use bystander_model::old_log::OldLog;
use bystander_model::typed;
use bystander_store::{RunLock, RunRecord, RunStatus, StateDir, Store};

use super::Place;
use crate::answered;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{self, Output};
use crate::recording::Recording;
use crate::{interrupt, not_text, old_logs, other_runs, reading, state};

/// The name under which the experiment file stands among what a resume must find unchanged.
const SPECIFICATION: &str = "the experiment file";

/// Runs an experiment.
pub(crate) fn run(args: &RunArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let checked = read(&args.file, args.counts_as.as_deref())?;
    output.problems(&checked.warnings);
    let mut plan = if args.aa { aa::of(checked.plan) } else { checked.plan };
    if args.seed.is_some() {
        plan.seed = args.seed;
    }
    if args.dry_run {
        let checkup = bystander_host::local::check(&plan, &state::registry()?);
        let plan = settle(plan, &checkup, output)?;
        old_logs::look(&plan)?;
        let shown = Masker::forgotten().map_err(|error| Failure::environment("failed to get random bytes").because(&error))?.plan(&plan);
        output.plan(&shown, &checkup, &summary::power(&plan));
        return Ok(ExitCode::SUCCESS);
    }
    let state = state::for_file(named, &plan.file)?;
    let _lock = RunLock::acquire_file(&state, &plan.file).map_err(|error| state::of_lock(&error))?;
    let journal = state::journal(&state)?;
    let live = Live::default();
    let mut place =
        LocalPlace::open(&state, &state::registry()?, journal, interrupt::canceller(answer_to_ctrl_c(&plan, output))?, reading::readers())
            .map_err(|error| Failure::environment("failed to prepare this machine").because(&error))?
            .told_to(&live);
    for undone in place.sweep().map_err(|error| unswept(&*error))? {
        output.say(&format!("{}: {}: an edit that a killed run had left ({})", undone.file.display(), undone.how, undone.name));
    }
    let mut checkup = place.check(&plan);
    let plan = settle(plan, &checkup, output)?;
    checkup.fingerprint.insert(SPECIFICATION.to_owned(), checked.sha256.clone());
    // Before anything is recorded: a log that cannot be read is a slip of the file.
    let old_logs = old_logs::read(&plan, place.masker())?;
    let mut store = state::open(&state)?;
    let (ledger, end) = conducted(args, &plan, &checked.sha256, &checkup, old_logs, &state, &mut store, &mut place, &live, output)?;
    let report = summary::report_beside(&ledger, &other_runs::of(&store, &ledger.run)?);
    output.report(&report, args.why.then_some(None), &Place::State(state.clone()));
    if let RunEnd::Broken { why } = &end {
        if let Some(failure) = hook::setup_failed(&ledger, &state) {
            return Err(failure);
        }
        return Err(Failure::environment("failed to go on with the run")
            .hint(format!("what was recorded stays; the same command goes on with it ({why})")));
    }
    if let RunEnd::Invalid { .. } = &end
        && let Some(failure) = hook::prepare_failed(&ledger, &state)
    {
        output.advice(&failure);
    }
    Ok(ExitCode::from(answered::exit_code(&ledger, &report)))
}

/// What is said to whoever asks the run to stop.
fn answer_to_ctrl_c(plan: &Plan, output: &Output) -> impl Fn(u32) + Send + 'static {
    let (voice, grace) = (output.voice(), plan.program.grace);
    move |count| match output::lease_over() {
        Some(why) if count == 1 => voice.say(&format!("stopping: {why}; edits are undone, the record is kept")),
        Some(_) => {}
        None => voice.stopping(count, grace),
    }
}

/// Reads the experiment file, which may be a copy that counts as another one.
fn read(file: &Path, counts_as: Option<&Path>) -> Result<spec::Checked, Failure> {
    let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if let Some(counts_as) = counts_as {
        output::counts_as(counts_as, &path);
    }
    let named = counts_as.unwrap_or(&path);
    not_text::path("the experiment file", named)?;
    let checked = spec::read_as(&path, named).map_err(|problems| unread(counts_as.unwrap_or(file), problems))?;
    not_text::path("the working directory", &checked.plan.program.cwd)?;
    Ok(checked)
}

/// An experiment file that cannot be read, or that is none.
pub(in crate::commands) fn unread(file: &Path, problems: Vec<Diagnostic>) -> Failure {
    Failure::user(format!("failed to read the experiment file {}", file.display())).problems(problems)
}

/// Leaves refused instruments out where the plan says so, and refuses the run otherwise.
fn settle(mut plan: Plan, checkup: &Checkup, output: &mut Output) -> Result<Plan, Failure> {
    let drop = plan.refused == Refused::Drop;
    let refusals = checkup.refused.values().flat_map(|refusal| refusal.problems.clone());
    let (tolerated, refusing): (Vec<Diagnostic>, Vec<Diagnostic>) = refusals.partition(|_| drop);
    let rest = checkup.problems.iter().cloned().chain(refusing);
    let (errors, warnings): (Vec<Diagnostic>, Vec<Diagnostic>) = rest.partition(|problem| problem.severity == Severity::Error);
    if !errors.is_empty() {
        let failure =
            Failure::user("failed to check the plan; nothing was launched and nothing was written").problems([warnings, errors].concat());
        return Err(if checkup.refused.is_empty() {
            failure
        } else {
            failure.hint("`refused = \"drop\"` in [plan] leaves refused instruments out and runs the others")
        });
    }
    output.problems(&[warnings, tolerated].concat());
    for (name, refusal) in &checkup.refused {
        output.say(&format!("refused before any launch: {name}: {}", refusal.why));
        plan.leave_out(name, &refusal.why);
    }
    if !checkup.refused.is_empty() && plan.cells.len() < 2 && !plan.describe {
        return Err(Failure::user("failed to check the plan: every instrument was refused, and nothing is left to compare"));
    }
    Ok(plan)
}

/// Takes up the newest run of the file, or starts one, and conducts it to its end.
#[expect(clippy::too_many_arguments, reason = "the parts of a run meet here and nowhere else")]
fn conducted(
    args: &RunArgs,
    plan: &Plan,
    sha256: &str,
    checkup: &Checkup,
    old_logs: Vec<OldLog>,
    state: &StateDir,
    store: &mut Store,
    place: &mut LocalPlace,
    live: &Live,
    output: &mut Output,
) -> Result<(Ledger, RunEnd), Failure> {
    let resumable = if args.new { None } else { newest_unfinished(store, plan)? };
    let (run, mut ledger) = match resumable {
        Some(record) => (record.id.clone(), Some(state::replay(store, &record)?)),
        None => (state.new_run(&plan.file, jiff::Timestamp::now()).map_err(|error| state::of_state(&error))?, None),
    };
    let _lock = RunLock::acquire(state, &run).map_err(|error| state::of_lock(&error))?;
    if let Some(ledger) = &ledger {
        resume::allow(ledger, checkup, args.seed)?;
    }
    // What is recorded and shown has no secrets in it; what is launched is the plan as it was read.
    let masked = place.masker().plan(plan);
    output.begin(&masked, checkup, &summary::power(plan), &run, ledger.as_ref());
    let progress = output.progress(plan, live, ledger.as_ref());
    if let Some(ledger) = &mut ledger {
        let mut recording = Recording::of_existing(store, progress);
        conduct::resume_in(ledger, &checkup.fingerprint, Some(&session()), &mut recording).map_err(|error| of_lab(&error))?;
        ledger.plan.unmask(plan);
        let end = conduct::conduct(ledger, place, &mut recording).map_err(|error| of_lab(&error))?;
        return Ok((ledger.clone(), end));
    }
    output::note_clock(state, &run);
    let seed = plan.seed.unwrap_or_else(fresh_seed);
    let now = TimeNs(u64::try_from(jiff::Timestamp::now().as_nanosecond()).unwrap_or(0));
    let record =
        RunRecord { id: run.clone(), file: plan.file.clone(), spec_sha256: sha256.to_owned(), created: now, status: RunStatus::Running };
    let mut recording = Recording::of_new(store, record, progress);
    let mut ledger =
        conduct::create(&run, &masked, seed, env!("CARGO_PKG_VERSION"), checkup, &mut recording).map_err(|error| of_lab(&error))?;
    conduct::begin_session(&mut ledger, &session(), &mut recording).map_err(|error| of_lab(&error))?;
    ledger.plan.unmask(plan);
    conduct::take_old_logs(&mut ledger, old_logs, &mut recording).map_err(|error| of_lab(&error))?;
    let end = conduct::conduct(&mut ledger, place, &mut recording).map_err(|error| of_lab(&error))?;
    Ok((ledger, end))
}

/// The newest run of a plan, where it was stopped before its end. An A/A run of a file and a run of the file itself are no continuation of each other.
fn newest_unfinished(store: &Store, plan: &Plan) -> Result<Option<RunRecord>, Failure> {
    let wanted = plan.kind == Kind::Aa;
    for run in store.runs_for(&plan.file).map_err(|error| state::of_store(&error))? {
        if is_aa(store, &run)? == wanted {
            return Ok(Some(run).filter(|run| matches!(run.status, RunStatus::Running | RunStatus::Interrupted | RunStatus::Broken)));
        }
    }
    Ok(None)
}

/// Whether a recorded run compares its baseline with itself.
fn is_aa(store: &Store, run: &RunRecord) -> Result<bool, Failure> {
    let first = store.events(&run.id).and_then(|mut events| events.next().transpose()).map_err(|error| state::of_store(&error))?;
    Ok(matches!(first.map(|event| event.body), Some(EventBody::RunStarted { plan, .. }) if plan["kind"] == "aa"))
}

/// This process, as it is recorded. A pid means something only on the same start of the machine.
fn session() -> Session {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|boot| boot.trim().to_owned());
    Session { version: env!("CARGO_PKG_VERSION").to_owned(), boot, pid: std::process::id() }
}

/// A seed that nobody chose; it is recorded and shown, so that the order can be had again.
fn fresh_seed() -> u64 {
    let now = jiff::Timestamp::now().as_nanosecond();
    // Six digits are enough to tell runs apart and few enough to type.
    u64::try_from(now.rem_euclid(999_983)).unwrap_or(0)
}

fn of_lab(error: &LabError) -> Failure {
    match error {
        LabError::Changed { .. } => Failure::user("failed to take up the run that was stopped")
            .because(error)
            .hint("`--new` starts a new run; undo the change to go on with the old one"),
        LabError::Record(_) => Failure::environment("failed to go on with the run").because(error).hint(format!(
            "what was recorded stays readable (`{}`); mend the cause and run the same command again to go on",
            typed::here("show")
        )),
        LabError::Place { .. } | LabError::Unreadable { .. } => Failure::environment("failed to go on with the run").because(error),
    }
}

fn unswept(error: &(dyn std::error::Error + 'static)) -> Failure {
    Failure::environment("failed to remove what a killed run had left").because(error).hint(format!(
        "`{}` shows live edits, `{}` undoes them",
        typed::there("patch status"),
        typed::there("patch revert")
    ))
}
