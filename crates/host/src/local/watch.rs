//! Watching a running trial: lines, readiness, workload, limits, until nothing of it is left.

mod clash;
mod course;
mod ending;
mod evidence;
mod goes_to;
mod identity;
mod limit;
mod telling;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bystander_lab::cause::{self, CauseReader, PartDied, Scanner, StopWhy, TrialFacts};
use bystander_lab::live::{Live, Phase};
use bystander_lab::place::{Emit, TrialOrder};
use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use bystander_model::event::EventBody;
use bystander_model::evidence::Stream;
use bystander_model::hit::Receipt;
use bystander_model::ids::{TimeNs, TrialId};
use bystander_model::reading::{LogBlock, LogLine};
use bystander_supervise::Canceller;
use bystander_supervise::command::Command;
use bystander_supervise::output::{Line, Lines, OutputError};
use bystander_supervise::ready::Readiness;
use bystander_supervise::trial::Trial;
use bystander_supervise::trial::event::{Finished, TrialEvent};

pub(super) use self::clash::of_another_lane;
use super::deliver::Private;
use super::foreign;
use super::instruments::Probes;
use super::parts::Parts;
use super::ready::{self, Treatments};
use super::seen::Seen;
use super::stall::Stall;
use super::workload::{Done, Running};
use crate::{metrics, secrets};

/// How long one wait for the program lasts before the other things are looked at.
const TURN: Duration = Duration::from_millis(25);
/// The same while a process may end at any moment, and how is known only until its parent asks.
const SHORT_TURN: Duration = Duration::from_millis(4);
/// How long one wait for the workload lasts before the program is looked at again.
const WORKLOAD_TURN: Duration = Duration::from_millis(10);

/// A trial that is being watched.
pub(super) struct Watch<'a> {
    plan: &'a Plan,
    trial: TrialId,
    command: &'a Command,
    folder: &'a Path,
    canceller: &'a Canceller,
    scanner: Scanner,
    facts: TrialFacts,
    readers: Vec<Box<dyn CauseReader>>,
    metrics: metrics::Reader,
    probes: Option<Probes>,
    private: Option<&'a Private>,
    hidden: Vec<String>,
    cell: &'a Cell,
    workload: Option<Running>,
    done: Option<Done>,
    exited: bool,
    gone: bool,
    broken: Option<OutputError>,
    /// Whether output was passed over, because the user wants to stop.
    unread: bool,
    /// Whether the screen was told that every condition holds.
    seems_ready: bool,
    telling: telling::Telling,
    course: course::Course,
    stall: Stall,
    parts: Parts,
    /// The time limit, once it was reached.
    limit: Option<TimeNs>,
    treatments: Treatments,
    /// Where built-in traffic goes, once it does.
    target: Option<identity::Target>,
    /// The program's own ports to which the command of the workload goes.
    asked_ports: BTreeSet<u16>,
    /// The last line that says that a port was taken, by stream and number, once its holder was looked for.
    clash_looked_at: Option<(Stream, u64)>,
    /// The probes of the trial's cell.
    own_probes: Vec<String>,
}

impl<'a> Watch<'a> {
    #[expect(clippy::too_many_arguments, reason = "what a trial consists of meets here and nowhere else")]
    pub(super) fn new(
        plan: &'a Plan,
        order: &'a TrialOrder,
        command: &'a Command,
        folder: &'a Path,
        canceller: &'a Canceller,
        readers: Vec<Box<dyn CauseReader>>,
        probes: Option<Probes>,
        private: Option<&'a Private>,
        hidden: Vec<String>,
    ) -> Self {
        let mut facts = TrialFacts::new(order.trial, Scanner::new().finish(), cause::Place::here(command.cwd.clone()));
        facts.expects_ready = plan.program.ready.is_some();
        facts.expects_workload = plan.workload.is_some();
        facts.workload_limit_s = plan.workload.as_ref().map(|workload| workload.timeout.as_secs_f64());
        let stall = Stall::new(plan.program.stall, folder, &hidden);
        let parts = Parts::new(plan.program.stall, &hidden);
        Self {
            plan,
            trial: order.trial,
            command,
            folder,
            canceller,
            scanner: Scanner::new(),
            facts,
            readers,
            metrics: metrics::Reader::new(plan, order),
            probes,
            private,
            hidden,
            cell: &order.slot.cell,
            workload: None,
            done: None,
            exited: false,
            gone: false,
            broken: None,
            unread: false,
            seems_ready: false,
            telling: telling::Telling::new(&Live::default(), order.trial),
            course: course::Course::default(),
            stall,
            parts,
            limit: None,
            treatments: Treatments::new(plan, &order.slot.cell, order.trial),
            target: None,
            asked_ports: BTreeSet::new(),
            clash_looked_at: None,
            own_probes: plan.probes_of(&order.slot.cell).map(|probe| probe.spec.name.clone()).collect(),
        }
    }

    /// Tells the screen what goes on.
    pub(super) fn told_to(mut self, live: &Live) -> Self {
        self.telling = telling::Telling::new(live, self.trial);
        self
    }

    /// Reads metrics with a reader that has looked before the launch.
    pub(super) fn reading(mut self, metrics: metrics::Reader) -> Self {
        self.metrics = metrics;
        self
    }

    /// Follows the trial to its end.
    pub(super) fn follow(
        mut self,
        mut trial: Trial,
        fill: &[(&str, &str)],
        emit: &mut Emit<'_>,
    ) -> Result<Seen, Box<dyn Error + Send + Sync>> {
        let deadline = Instant::now() + self.plan.program.timeout;
        self.telling.phase(Phase::Spawned);
        self.course.begin(&trial);
        trial.in_blocks();
        let why = loop {
            if let Some(why) = self.turn(&mut trial, fill, deadline, emit)? {
                break why;
            }
        };
        self.telling.stopping(self.plan.program.grace);
        if !self.exited {
            self.course.phase(trial.now_ns(), "stopping");
        }
        self.stop(&mut trial, why);
        let finished = trial.finish(self.plan.program.grace, |event| self.take(event));
        // It may have said so with its last breath.
        self.look_for_clash(&trial);
        let ended = trial.now_ns();
        self.ended_well(trial.started_ns(), emit)?;
        if self.unread || trial.has_passed_over() {
            // Also where it had ended before: what its output would have told is not known.
            self.facts.stopped = Some(cause::Stopped { at: ended, why: StopWhy::Interrupted });
        }
        let started = trial.started_ns();
        let counted = self.collect_probes(&finished, emit);
        self.lost_mount(None);
        self.telling.phase(Phase::Settling);
        trial.close();
        counted?;
        if let Some(error) = self.broken {
            // The record of this trial is not whole, and the next one's would not be either.
            return Err(error.into());
        }
        Ok(self.seen(&finished, started, ended))
    }

    /// One turn; an answer where the trial is to be ended.
    fn turn(
        &mut self,
        trial: &mut Trial,
        fill: &[(&str, &str)],
        deadline: Instant,
        emit: &mut Emit<'_>,
    ) -> Result<Option<StopWhy>, Box<dyn Error + Send + Sync>> {
        // A program that never stops writing must not keep the rest waiting: hits fill their ring, and a workload its pipe.
        let next = Instant::now() + if self.parts.is_watchful() { SHORT_TURN } else { TURN };
        let until = if self.limit.is_some() { next } else { next.min(deadline) };
        let wait = if self.workload.is_some() { Duration::ZERO } else { until.saturating_duration_since(Instant::now()) };
        let mut waited = false;
        while let Some(event) = trial.next(if waited { Duration::ZERO } else { wait }) {
            waited = true;
            if let TrialEvent::Ready(readiness) = &event {
                self.ready(trial, readiness, fill, emit)?;
            }
            self.take(event);
            if self.gone || Instant::now() >= until || self.canceller.is_cancelled() {
                break;
            }
        }
        self.look_for_clash(trial);
        self.telling.turn();
        self.tell_ready(trial);
        let held = trial.holds();
        self.telling.memory(held.rss_bytes, held.gpu_bytes);
        self.read_hits(emit)?;
        if self.lost_mount(Some(trial.pid())) {
            return Ok(Some(StopWhy::Done));
        }
        if self.canceller.is_cancelled() {
            trial.pass_over();
            return Ok(Some(StopWhy::Interrupted));
        }
        if self.workload.is_some() && !self.exited {
            self.parts.under_load(trial, &self.scanner);
        }
        if let Some(workload) = self.workload.as_mut().filter(|workload| workload.is_warm()) {
            self.metrics.warmed(trial);
            workload.go_on();
        }
        if let Some(workload) = &mut self.workload
            && (workload.wait(WORKLOAD_TURN, &mut self.metrics) || self.exited)
        {
            self.end_workload();
            return Ok(Some(StopWhy::Done));
        }
        if self.gone
            || self.broken.is_some()
            || (self.exited && self.plan.program.ready.is_none())
            || (self.facts.ready.is_some() && self.plan.workload.is_none())
        {
            return Ok(Some(StopWhy::Done));
        }
        // A launch whose port belongs to somebody else is void whatever comes: nobody waits for its time limit.
        let foreign = self.facts.ready.is_none() && self.facts.port_holder.as_ref().is_some_and(|holder| !holder.of_this_trial);
        let void = foreign || !self.facts.contamination.is_empty();
        if self.exited || void {
            return Ok(Some(StopWhy::Done));
        }
        if let Some((died, span)) = self.waits_in_vain(trial) {
            self.facts.part_died = Some(died);
            return Ok(Some(StopWhy::PartDied { span_s: span.as_secs_f64() }));
        }
        // Who holds every condition and is seen to go on doing so may be silent: nobody asks it for anything yet, and a look would stop it for nothing.
        let ready = self.facts.ready.is_some();
        let looked_at = ready || trial.holding().is_none();
        if let Some(why) = looked_at.then(|| self.stall.turn(trial, &self.scanner, ready)).flatten() {
            return Ok(Some(why));
        }
        Ok(if Instant::now() >= deadline { self.at_limit(trial) } else { None })
    }

    /// Tells that everything holds while it is seen whether that lasts, or that it does not any more.
    fn tell_ready(&mut self, trial: &Trial) {
        let holds = trial.holding().is_some() && !self.exited;
        if self.facts.ready.is_none() && holds != self.seems_ready {
            self.seems_ready = holds;
            self.telling.phase(if holds { Phase::Ready } else { Phase::Loading });
        }
    }

    /// What has died of a program that is still waited for to be ready.
    fn waits_in_vain(&mut self, trial: &Trial) -> Option<(PartDied, Duration)> {
        let waits = self.facts.expects_ready && self.facts.ready.is_none() && self.limit.is_none() && trial.holding().is_none();
        // What is not read yet may be the word that it is ready.
        if waits { self.parts.turn(trial, &self.scanner).filter(|_| !trial.has_unread()) } else { None }
    }

    /// Whether a private mount is gone, which voids the trial whatever comes.
    fn lost_mount(&mut self, pid: Option<u32>) -> bool {
        let lost = self.private.and_then(|private| private.detached(pid.filter(|_| !self.exited)));
        let is_lost = lost.is_some();
        if self.facts.contamination.is_empty() {
            self.facts.contamination.extend(lost);
        }
        is_lost
    }

    fn ready(
        &mut self,
        trial: &Trial,
        readiness: &Readiness,
        fill: &[(&str, &str)],
        emit: &mut Emit<'_>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let evidence = self.evidence_of(readiness, trial.started_ns());
        let after_s = readiness.time_ns.seconds_since(trial.started_ns());
        if self.is_late(readiness, after_s) {
            return Ok(());
        }
        emit(EventBody::Ready { after_s, evidence: evidence.clone() })?;
        self.facts.ready = Some(cause::ReadySeen { at: readiness.time_ns, evidence });
        self.telling.phase(Phase::Ready);
        self.course.phase(readiness.time_ns, "ready");
        self.look_at_target(trial, fill, emit)?;
        self.look_at_ports(trial, fill);
        if !self.facts.contamination.is_empty() {
            return Ok(());
        }
        self.metrics.ready(trial);
        self.parts.serves(trial, &self.scanner);
        if let Some(workload) = &self.plan.workload {
            self.telling.phase(Phase::Working);
            self.course.phase(trial.now_ns(), "workload");
            self.workload = Some(Running::start(workload, self.trial, self.command, fill, self.folder, self.canceller, &self.hidden)?);
        }
        Ok(())
    }

    /// Takes one event of the program.
    fn take(&mut self, event: TrialEvent) {
        match event {
            // A gigabyte that is still to be read keeps nobody who asked to stop waiting; it is in its file all the same.
            TrialEvent::Line(_) | TrialEvent::Lines(_) if self.canceller.is_cancelled() => self.unread = true,
            TrialEvent::Line(line) => self.line(&line),
            TrialEvent::Lines(lines) => self.lines(&lines),
            TrialEvent::Exited(exit) => {
                self.exited = true;
                self.facts.exit = exit.status.code();
                self.facts.signal = exit.status.signal();
                self.facts.ended = Some(exit.time_ns);
                self.course.ended(exit.time_ns, &exit.status.to_string());
            }
            TrialEvent::TreeEmpty(_) => self.gone = true,
            TrialEvent::ForeignListener(holder) => {
                self.facts.port_holder = Some(foreign(&holder));
            }
            TrialEvent::OutputFailed(error) => {
                self.broken.get_or_insert(error);
            }
            TrialEvent::KeeperLost(lost) => {
                self.gone = true;
                self.facts.harness_error =
                    Some(format!("keep the trial together: its keeper was killed; {} of its processes were ended", lost.orphans));
            }
            TrialEvent::Ready(_) | TrialEvent::StreamEnded(_) | TrialEvent::Cancelled => {}
        }
    }

    fn line(&mut self, line: &Line) {
        let text = line.text();
        let read = LogLine { stream: line.stream, number: line.number, time: line.time_ns, text: &text };
        self.scanner.line(&read);
        for reader in &mut self.readers {
            reader.line(&read);
        }
        self.metrics.line(line.stream, line.number, &text);
        self.telling.line(&text);
        self.course.read(&self.readers);
        self.treatments.line(line);
    }

    fn lines(&mut self, lines: &Lines) {
        let text = lines.text();
        let block = LogBlock { stream: lines.stream, first: lines.first, time: lines.time_ns, text: &text };
        self.scanner.block(&block);
        for reader in &mut self.readers {
            reader.block(&block);
        }
        self.metrics.block(&block);
        block.last(1).for_each(|line| self.telling.line(line.text));
        self.course.read(&self.readers);
        self.treatments.block(&block);
    }

    fn read_hits(&mut self, emit: &mut Emit<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let hits = self.probes.as_mut().map(Probes::poll).transpose()?.unwrap_or_default();
        for mut hit in hits {
            secrets::blot_hit(&mut hit, &self.hidden);
            self.readers.iter_mut().for_each(|reader| reader.hit(&hit));
            self.metrics.hit(&hit);
            self.course.hit(&hit);
            emit(EventBody::Hit(hit))?;
        }
        Ok(())
    }

    /// The last hits and the receipts, after the last process is gone.
    fn collect_probes(&mut self, finished: &Finished, emit: &mut Emit<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Some(probes) = self.probes.take() else { return Ok(()) };
        let (hits, receipts) = probes.finish(&finished.processes, &self.plan.program.cwd)?;
        let receipts: Vec<Receipt> =
            receipts.into_iter().map(|receipt| Receipt { detail: receipt.detail.map(|detail| self.blotted(&detail)), ..receipt }).collect();
        for mut hit in hits {
            secrets::blot_hit(&mut hit, &self.hidden);
            self.readers.iter_mut().for_each(|reader| reader.hit(&hit));
            self.metrics.hit(&hit);
            emit(EventBody::Hit(hit))?;
        }
        let names: Vec<&str> = self.own_probes.iter().map(String::as_str).collect();
        self.facts.shown.extend(ready::receipts(self.trial, &names, &receipts));
        for receipt in receipts {
            self.metrics.receipt(&receipt);
            emit(EventBody::Receipt(receipt))?;
        }
        Ok(())
    }

    fn end_workload(&mut self) {
        if let Some(workload) = self.workload.take() {
            let done = workload.finish(&mut self.metrics);
            self.facts.under_load = self.exited;
            // Ended by us because the program died first: that is the program's end, and the workload's says nothing.
            if !self.exited || done.end.exit.is_some() {
                self.facts.workload = Some(done.end.clone());
            }
            self.done = Some(done);
        }
    }
}
