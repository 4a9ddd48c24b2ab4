//! The end of a trial: what was moving when it was ended, what it left behind, and everything that was seen of it.

use std::time::Duration;

use bystander_lab::cause::{self, ReadySeen, StopWhy, Stopped};
use bystander_lab::place::{Emit, RecordRefused};
use bystander_model::event::EventBody;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_supervise::trial::Trial;
use bystander_supervise::trial::event::Finished;

use super::super::after;
use super::super::seen::Seen;
use super::Watch;

/// Processes that are gone so soon after their program were ending with it.
const LINGERS: Duration = Duration::from_millis(500);

impl Watch<'_> {
    /// Says why the program is ended now, and what was moving.
    pub(super) fn stop(&mut self, trial: &mut Trial, why: StopWhy) {
        self.end_workload();
        if self.facts.ready.is_some() && self.facts.expects_workload && !self.exited && !matches!(why, StopWhy::Interrupted) {
            self.facts.part_died = self.parts.died_under_load(trial, &self.scanner);
        }
        self.look_at_target_again(trial);
        self.look_at_ports_again(trial);
        self.look_again(trial);
        if why == StopWhy::Done && self.facts.ready.is_some() && !self.exited {
            self.metrics.worked(trial);
        }
        if !self.exited && matches!(why, StopWhy::TimeLimit { .. }) {
            self.stall.at_limit(trial);
        }
        if !self.exited {
            self.facts.standstill = self.stall.standstill();
        }
        if matches!(why, StopWhy::TimeLimit { .. }) {
            let span = self.plan.program.stall.min(self.plan.program.timeout);
            let activity = trial.activity(span);
            // A limit shorter than `stall` is too short a time to call it a standstill.
            let is_short = activity.span < self.plan.program.stall;
            let is_active = activity.output_bytes > 0 || activity.cpu > Duration::from_millis(100);
            let moving = !self.stall.is_still() && (is_active || is_short);
            let text = format!(
                "in the last {:.0} s it wrote {} bytes and used {:.1} s of processor time",
                activity.span.as_secs_f64(),
                activity.output_bytes,
                activity.cpu.as_secs_f64()
            );
            self.facts.progress = Some(cause::Progress { moving, text });
        }
        if let Some(why) = trial.unready() {
            self.facts.unready = Some(self.blotted(&why));
        }
        self.facts.held = trial.held_ns();
        // A program that had ended by itself was not ended by us, but an interrupted trial is interrupted all the same.
        if !self.exited || why == StopWhy::Interrupted {
            // What comes after the limit does not count, however long it took to read what came before it.
            let limit = self.limit.filter(|_| matches!(why, StopWhy::TimeLimit { .. }));
            self.facts.stopped = Some(Stopped { at: limit.unwrap_or_else(|| trial.now_ns()), why });
        }
    }

    /// A program that has given its word, of which nothing more is asked, and that has then ended well by itself, was ready.
    pub(super) fn ended_well(&mut self, started: TimeNs, emit: &mut Emit<'_>) -> Result<(), RecordRefused> {
        let asks_no_more = self.plan.workload.is_none() && self.plan.program.ready.as_ref().is_some_and(|ready| !ready.serves());
        let well = self.facts.exit == Some(0) && self.facts.signal.is_none() && self.facts.stopped.is_none();
        let (Some(held), Some(ended)) = (self.facts.held, self.facts.ended) else { return Ok(()) };
        if !(asks_no_more && well) || self.facts.ready.is_some() {
            return Ok(());
        }
        let text = format!(
            "every condition held, and {:.2} s later it ended with exit code 0, as a program may that serves nobody",
            ended.seconds_since(held).max(0.0)
        );
        let evidence = vec![Evidence::sample(self.trial, "readiness", &text)];
        emit(EventBody::Ready { after_s: held.seconds_since(started), evidence: evidence.clone() })?;
        self.facts.unready = None;
        self.facts.ready = Some(ReadySeen { at: held, evidence });
        Ok(())
    }

    /// What had to be done after the program's own end, or after it was asked to end; `None` where nothing was.
    fn left(&self, finished: &Finished) -> Option<String> {
        let tree = finished.tree?;
        let kills = match tree.kills {
            0 => "SIGTERM was enough".to_owned(),
            1 => "SIGKILL was sent once".to_owned(),
            n => format!("SIGKILL was sent {n} times"),
        };
        match (&self.facts.stopped, self.facts.ended) {
            (None, Some(ended)) => {
                let after = tree.time_ns.seconds_since(ended);
                let told = tree.kills > 0 || after > LINGERS.as_secs_f64();
                told.then(|| format!("processes that it had left behind were gone {after:.1} s after its own end; {kills}"))
            }
            (Some(_), _) if tree.kills > 0 => Some(format!("it did not end by SIGTERM within its grace; {kills}")),
            _ => None,
        }
    }

    pub(super) fn seen(mut self, finished: &Finished, started: TimeNs, ended: TimeNs) -> Seen {
        self.facts.left = self.left(finished);
        self.facts.scan = self.scanner.finish();
        self.treatments.conclude(&mut self.facts, &self.readers);
        if finished.keeper_lost.is_none() && finished.tree.is_none() {
            self.facts.harness_error.get_or_insert_with(|| "end every process of the trial: some hang in the kernel".to_owned());
        }
        self.facts.pids = finished.processes.iter().map(|process| process.pid).collect();
        let over = finished.tree.map_or(ended, |tree| tree.time_ns);
        Seen {
            facts: self.facts,
            readers: self.readers,
            metrics: self.metrics,
            wall_s: over.seconds_since(started),
            peak_rss_bytes: (finished.peak_rss_bytes > 0).then_some(finished.peak_rss_bytes),
            samples: Some(after::without_secrets(finished.samples.clone(), &self.hidden)),
            started: Some(started),
            streams: Some([finished.stdout, finished.stderr]),
            stacks: self.stall.kept(),
            traffic: self.done.as_ref().and_then(|done| done.traffic.clone()),
            workload: self.done.map(|done| done.outputs),
            unread: None,
        }
    }
}
