//! One trial from the first edit to the last undo. Whatever happens in between, edits are undone, the tree is gone, and the rings are removed.

pub(super) mod filled;
mod launched;

use std::error::Error;
use std::path::{Path, PathBuf};

use bystander_lab::cause::{self, CauseReader};
use bystander_lab::live::Phase;
use bystander_lab::place::{Emit, TrialOrder};
use bystander_lab::plan::Plan;
use bystander_model::chain::with_causes;
use bystander_model::event::{EventBody, TrialEnd};
use bystander_model::evidence::Stream;
use bystander_model::outcome::Outcome;
use bystander_model::probe::Delivery;
use bystander_model::samples::Samples;
use bystander_supervise::Availability;
use bystander_supervise::command::{Command, KeeperProgram};
use bystander_supervise::gpu::Gpu;
use bystander_supervise::memory_limit::{CounterScope, MemoryCounters};
use bystander_supervise::output::OutputPaths;
use bystander_supervise::trial::{StartError, Trial, TrialSpec};
use bystander_supervise::{host_memory, listener, port};

use super::before::grounds::Entered;
use super::deliver::{Cast, Private};
use super::instruments::{Edits, Probes};
use super::openings::Openings;
use super::seen::Seen;
use super::turns::{Turn, Wanted, folders_of};
use super::watch::Watch;
use super::{LocalPlace, after, before, hooks, outputs, ready, turns, watch};
use crate::{environment, metrics, secrets};

use filled::{Fill, command, hidden, program, uses_port};
use launched::provenance;

type Failed = Box<dyn Error + Send + Sync>;

/// Runs one trial.
pub(super) fn run(place: &LocalPlace, plan: &Plan, order: &TrialOrder, emit: &mut Emit<'_>) -> Result<TrialEnd, Failed> {
    let entered = place.grounds.enter(order.trial);
    let gpus = gpus(place, plan, order);
    let wanted = Wanted::of_cell(plan, &order.slot.cell, &place.probes, &loaded_folders(place, plan, order)).with_gpus(&gpus);
    let mut refused = None;
    let turn = wanted.take(&place.turns, None, &place.canceller, |path| {
        let what = turns::taken(path);
        place.live.waits(order.trial, &what);
        refused = emit(EventBody::Note { text: format!("waiting: {what}") }).err();
    })?;
    if let Some(refused) = refused {
        return Err(refused.into());
    }
    if let Turn::Waited(_) = turn {
        return Ok(conclude(plan, Seen::of_interrupted(plan, order), &Edits::default()));
    }
    place.live.phase(order.trial, Phase::Preparing);
    let before = before::look(place, plan, order, &entered, &gpus, emit)?;
    if place.canceller.is_cancelled() {
        return Ok(conclude(plan, Seen::of_interrupted(plan, order), &Edits::default()));
    }
    if !before.found.is_empty() {
        return Ok(conclude(plan, Seen::of_contaminated(plan, order, before.found), &Edits::default()));
    }
    // A run that was killed in its turn may have left an edit on a file that this one loads.
    place.recover()?;
    if let Some(change) = place.program.changed() {
        return Err(change.stops(order.trial).into());
    }
    let cell = &order.slot.cell;
    let cast = match cast(place, plan, order) {
        Ok(cast) => cast,
        Err(refusal) => return Ok(conclude(plan, Seen::of_refused(plan, order, vec![refusal]), &Edits::default())),
    };
    for text in &cast.notes {
        emit(EventBody::Note { text: text.clone() })?;
    }
    place.state.create_trial_dir(&order.run, order.trial)?;
    let port = if uses_port(plan) { Some(port::pick_free_port()?) } else { None };
    let fill = Fill::new(place, plan, order, port);
    fill.make(plan)?;
    match hooks::prepare(place, plan, order, &fill, emit)? {
        hooks::Ran::Through => {}
        hooks::Ran::Interrupted => return Ok(conclude(plan, Seen::of_interrupted(plan, order), &Edits::default())),
        hooks::Ran::Failed(hook) => {
            let found = vec![hooks::contamination(order.trial, &hook)];
            return Ok(conclude(plan, Seen::of_contaminated(plan, order, found), &Edits::default()));
        }
    }
    let editing = place.editing();
    let mut edits = Edits::apply(&place.journal, &cast.on_disk, &cell.instrument, &place.marker(order), emit)?;
    drop(editing);
    let given = Start { fill: &fill, port, gpus: &before.gpus, entered: &entered };
    let watched = if edits.refusals.is_empty() { launch(place, plan, order, &cast, &edits, &given, emit).map(Some) } else { Ok(None) };
    let concluded = hooks::conclude(place, plan, order, &fill, emit);
    let changed = edits.changed_meanwhile();
    // Undone before anything else is looked at: also when the trial or the record failed.
    let editing = place.editing();
    let undone = edits.undo(&place.journal, emit);
    drop(editing);
    let seen = watched?;
    undone?;
    let mut seen = seen.unwrap_or_else(|| Seen::of_refused(plan, order, edits.refusals.clone()));
    seen.facts.contamination.extend(changed);
    if seen.facts.contamination.is_empty() {
        seen.facts.contamination.extend(place.program.changed_during(order.trial, emit)?);
    }
    if let hooks::Ran::Failed(hook) = concluded?
        && plan.hooks.strict
    {
        seen.facts.contamination.push(hooks::contamination(order.trial, &hook));
    }
    let mut end = conclude(plan, seen, &edits);
    end.configuration.iter_mut().for_each(|stated| place.masker.configuration(stated));
    Ok(end)
}

/// Who goes in by which way.
fn cast(place: &LocalPlace, plan: &Plan, order: &TrialOrder) -> Result<Cast, cause::Refusal> {
    let folder = place.state.trial_dir(&order.run, order.trial);
    let fill = Fill::new(place, plan, order, None);
    let cell = &order.slot.cell;
    let words = environment::command(plan, cell, &fill.pairs());
    let asks = plan.probes_of(cell).next().is_some() || plan.edits_of(cell).any(|edit| edit.delivery == Delivery::Mount);
    let available = if asks { place.mounts() } else { &Availability::Root { layers: None } };
    Cast::of_cell(plan, cell, &place.probes, &words, &folder, available)
}

/// The GPUs of a trial, by UUID.
fn gpus(place: &LocalPlace, plan: &Plan, order: &TrialOrder) -> Vec<String> {
    let fill = Fill::new(place, plan, order, None);
    before::gpus::of_trial(plan, order, &command(place, plan, order, &fill, None, None).env)
}

/// The folders that the program of a trial loads from.
fn loaded_folders(place: &LocalPlace, plan: &Plan, order: &TrialOrder) -> Vec<PathBuf> {
    let fill = Fill::new(place, plan, order, None);
    // A directory of its own is not there yet, and holds nothing that could be loaded.
    let command = Command { cwd: plan.program.cwd.clone(), ..command(place, plan, order, &fill, None, None) };
    let program = program(&command);
    let python = program.as_ref().and_then(|program| place.python_of(plan, program, &command)).map(|python| python.executable);
    folders_of(&plan.program.cwd, program.iter().chain(&python).map(PathBuf::as_path))
}

/// What a launch is given beside its instruments.
struct Start<'a> {
    fill: &'a Fill,
    port: Option<u16>,
    gpus: &'a [Gpu],
    entered: &'a Entered<'a>,
}

/// Everything between the edits and their undo.
fn launch(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    cast: &Cast,
    edits: &Edits,
    given: &Start<'_>,
    emit: &mut Emit<'_>,
) -> Result<Seen, Failed> {
    let folder = place.state.create_trial_dir(&order.run, order.trial)?;
    let rings = place.rings(order);
    let probes = Probes::lay(cast, &folder, &rings)?;
    let private = match private(place, plan, order, cast, probes.as_ref(), &folder) {
        Ok(private) => private,
        Err(refusal) => return Ok(Seen::of_refused(plan, order, vec![refusal])),
    };
    let Start { fill, port, gpus, entered } = *given;
    let command = command(place, plan, order, fill, probes.as_ref(), private.as_ref());
    let hidden = hidden(plan, &command, &fill.pairs());
    let provenance = provenance(place, plan, &command, edits, fill);
    let memory = MemoryCounters::now();
    let output = OutputPaths { stdout: folder.join(Stream::Stdout.name()), stderr: folder.join(Stream::Stderr.name()) };
    let spec = TrialSpec {
        command: command.clone(),
        keeper: KeeperProgram::this_executable(),
        output: output.clone(),
        hidden: secrets::bytes(&hidden),
        ready: ready::spec(plan, &order.slot.cell, &fill.pairs(), &folder, &command, &hidden),
        canceller: place.canceller.clone(),
        namespace: private.as_ref().map(|private| private.namespace().clone()),
    };
    let readers = (place.readers)();
    // What a private mount shows of a folder is opened below it without a word.
    let openings = if private.is_none() { Openings::of(&edits.applied) } else { Openings::default() };
    let metrics = metrics::Reader::new(plan, order).before_launch(plan, &fill.pairs(), &folder, &command.cwd, &hidden);
    let mut seen = match Trial::start(spec) {
        Ok(mut trial) => {
            trial.watch_gpus(gpus);
            emit(EventBody::Launched { provenance: Box::new(provenance), pid: trial.pid() })?;
            let watch = Watch::new(plan, order, &command, &folder, &place.canceller, readers, probes, private.as_ref(), hidden);
            watch.told_to(&place.live).reading(metrics).follow(trial, &fill.pairs(), emit)?
        }
        Err(error) => not_started(plan, order, &error, readers)?,
    };
    seen.unread = openings.unread();
    let owed = after::settle(place, plan, order, gpus, &seen.facts.pids, seen.samples.as_mut(), emit)?;
    seen.facts.owed.extend(owed);
    seen.facts.contamination.extend(after::others::took(plan.conditions.gpu_memory_bytes, order.trial, gpus, seen.samples.as_ref()));
    if let Some(private) = &private {
        private.forget_bytecode();
        seen.facts.edits.extend_from_slice(private.applied());
    }
    for (stream, path, summary) in seen.outputs(&output) {
        outputs::keep(&place.state, stream, &path, summary, emit)?;
    }
    seen.facts.memory = memory_kill(&memory, seen.samples.as_ref());
    if let Some(number) = port.filter(|_| seen.facts.ready.is_none()) {
        seen.facts.port_holder = seen.facts.port_holder.take().or_else(|| holder(number));
    }
    if seen.facts.port_clash.is_none() && entered.has_met() {
        seen.facts.port_clash = watch::of_another_lane(&seen.facts, &filled::words(&command), port);
    }
    Ok(seen)
}

/// A kill for want of memory that may have been one of the trial's. The machine's counter also counts what was killed at the limit of somebody's group:
/// a machine that always had half of its memory left has killed nobody for its own sake.
fn memory_kill(before: &MemoryCounters, samples: Option<&Samples>) -> Option<cause::MemoryEvents> {
    let least = samples.and_then(|samples| samples.least_available_bytes);
    let had_enough = least.zip(host_memory::total()).is_some_and(|(least, total)| least > total / 2);
    let kill = before.risen().into_iter().find(|kill| !(kill.scope == CounterScope::Machine && had_enough))?;
    Some(cause::MemoryEvents {
        oom_kills: kill.after.saturating_sub(kill.before),
        limit_bytes: kill.limit_bytes,
        source: kill.file.display().to_string(),
    })
}

/// The private mounts of a trial, where an instrument needs them.
fn private(
    place: &LocalPlace,
    plan: &Plan,
    order: &TrialOrder,
    cast: &Cast,
    probes: Option<&Probes>,
    folder: &Path,
) -> Result<Option<Private>, cause::Refusal> {
    if !cast.is_mounted() {
        return Ok(None);
    }
    let refusal = |error: &dyn Error| cause::Refusal {
        instrument: order.slot.cell.instrument.clone(),
        reason: format!("failed to {}", with_causes(error)),
    };
    let fill = Fill::new(place, plan, order, None);
    let command = command(place, plan, order, &fill, None, None);
    let python = program(&command).and_then(|program| place.python_of(plan, &program, &command)).map(|python| python.executable);
    let overlay = probes.and_then(Probes::overlay).filter(|_| cast.pth);
    let pth = overlay.zip(python.as_deref());
    Private::lay(&folder.join("mount"), &cast.mounted, pth).map(Some).map_err(|error| refusal(&error))
}

/// Who holds a port after the trial is gone: not one of its own.
fn holder(port: u16) -> Option<cause::PortHolder> {
    listener::listener_of(port).map(|holder| super::foreign(&holder))
}

fn not_started(plan: &Plan, order: &TrialOrder, error: &StartError, readers: Vec<Box<dyn CauseReader>>) -> Result<Seen, Failed> {
    let mut seen = Seen::empty(plan, order, readers);
    let text = with_causes(error);
    match error {
        StartError::Keeper { .. } => seen.facts.harness_error = Some(text),
        StartError::Output(_) => return Err(format!("failed to {text}").into()),
        _ => seen.facts.spawn_error = Some(format!("failed to {text}")),
    }
    Ok(seen)
}

/// From what was seen to the end of the trial.
fn conclude(plan: &Plan, seen: Seen, edits: &Edits) -> TrialEnd {
    let Seen { mut facts, readers, metrics, wall_s, peak_rss_bytes, samples, started, traffic, unread, .. } = seen;
    facts.edits.extend_from_slice(&edits.applied);
    let ready_s = facts.ready.as_ref().zip(started).map(|(ready, started)| ready.at.seconds_since(started));
    let readers: Vec<&dyn CauseReader> = readers.iter().map(|reader| &**reader).collect();
    let measured = metrics::Measured { ready_s, wall_s, peak_rss_bytes, samples: samples.as_ref(), traffic: traffic.as_ref() };
    let mut read = metrics.finish(plan, &measured);
    facts.requests = facts.workload.as_ref().and_then(|_| metrics::of_workload(plan, &mut read));
    let mut verdict = cause::classify(&facts, &readers);
    // A program that ended badly may never have come so far.
    if let Some(unread) = unread.filter(|_| verdict.outcome == Outcome::Completed) {
        facts.contamination.push(unread);
        verdict = cause::classify(&facts, &readers);
    }
    TrialEnd {
        cause: verdict.cause,
        evidence: verdict.evidence,
        raised: verdict.raised,
        printed: verdict.printed,
        exit: facts.exit,
        signal: facts.signal,
        ready_s,
        wall_s,
        metrics: read.values,
        metric_evidence: read.evidence,
        units: Some(read.units),
        refused: read.refused,
        engine: read.engine.map(Box::new),
        budget: verdict.budget.map(Box::new),
        configuration: verdict.configuration,
        version: verdict.version,
        printed_by: verdict.printed_by,
        peak_rss_bytes,
        samples,
        traffic: traffic.map(Box::new),
        requests: facts.requests.map(|judged| Box::new(judged.requests)),
        ..TrialEnd::new(verdict.outcome)
    }
}
