//! What shows that a program was ready, in words without its secrets.

use std::time::Duration;

use bystander_lab::cause::Unanswering;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_supervise::ready::{Lapse, Readiness, Reply};
use bystander_supervise::trial::Trial;

use super::super::ready;
use super::Watch;
use crate::secrets;

/// Work that fails so soon after a program was ready may have come too early, in seconds; later it is the work that broke something.
const EARLY_S: f64 = 30.0;
/// The kind of error of built-in traffic that says that no answer came in time.
const TIMEOUT: &str = "timeout";
/// How long a completion may take at least, and is waited for at most, whatever `stall` is.
const ANSWER: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

impl Watch<'_> {
    pub(super) fn evidence_of(&self, readiness: &Readiness, started: TimeNs) -> Vec<Evidence> {
        let found = ready::evidence(self.trial, readiness, started).into_iter();
        found.map(|evidence| Evidence { text: self.blotted(&evidence.text), ..evidence }).collect()
    }

    /// Looks at a program whose workload has failed, while it lives: whether it still is what it was when it counted as ready, and where it stands.
    pub(super) fn look_again(&mut self, trial: &mut Trial) {
        let (Some(ready), Some(end)) = (&self.facts.ready, &self.facts.workload) else { return };
        if self.exited || end.succeeded() {
            return;
        }
        let early = trial.now_ns().seconds_since(ready.at) <= EARLY_S && !end.timed_out;
        let traffic = self.done.as_ref().and_then(|done| done.traffic.as_ref());
        let late_answers =
            traffic.is_some_and(|traffic| traffic.errors.contains_key(TIMEOUT) || traffic.warmup.errors.contains_key(TIMEOUT));
        let served = traffic.is_some_and(|traffic| traffic.completed > 0 || traffic.chunks > 0);
        let waited = late_answers || end.timed_out;
        let lapse = trial.still_ready().err();
        let (lapse, answers) = if lapse.is_none() { self.ask_again(trial, waited) } else { (lapse, None) };
        let silent = lapse.as_ref().is_some_and(|lapse| lapse.silent);
        if silent || (waited && answers.is_none()) {
            self.stall.of_unanswering(trial);
        }
        self.facts.answers = answers.map(|text| self.again(&text));
        let Some(lapse) = lapse else { return };
        let shown = self.again(&lapse.why);
        // Who refuses the first that is asked was never ready for it; who took it and said nothing hangs.
        if early && !silent && !served && !late_answers {
            self.facts.too_early = Some(shown);
        } else {
            self.facts.unanswering = Some(Unanswering { shown, silent });
        }
    }

    /// Health may be green where nobody is served: has a prompt completed by a program that was `waited` for in vain, or that had to generate to be
    /// ready. Gives what does not hold any more, or the words that it does answer; neither where that cannot be told.
    fn ask_again(&self, trial: &mut Trial, waited: bool) -> (Option<Lapse>, Option<String>) {
        let generates = self.plan.program.ready.as_ref().is_some_and(|ready| ready.generates.is_some());
        let asked = self.done.as_ref().and_then(|done| done.asked.as_ref()).filter(|_| waited && !generates);
        if !generates && asked.is_none() {
            return (None, None);
        }
        let limit = self.plan.program.stall.clamp(ANSWER.0, ANSWER.1);
        let reply = trial.still_completes(asked, limit, &|| self.canceller.is_cancelled());
        let conditions = "its conditions hold, and";
        match reply {
            Reply::Completed(after) => (None, Some(format!("it completed a prompt of its own in {:.1} s", after.as_secs_f64()))),
            Reply::Silent(why) => {
                let did = trial.activity(limit);
                let did = format!(
                    "in the last {:.0} s it wrote {} bytes and used {:.1} s of processor time",
                    did.span.as_secs_f64(),
                    did.output_bytes,
                    did.cpu.as_secs_f64()
                );
                (Some(Lapse { why: format!("{conditions} {why}; {did}"), silent: true }), None)
            }
            // Somebody else's question may be one that this server never takes.
            Reply::Failed(why) if generates => (Some(Lapse { why: format!("{conditions} {why}"), silent: false }), None),
            Reply::Failed(_) | Reply::Unasked(_) => (None, None),
        }
    }

    fn again(&self, text: &str) -> Evidence {
        Evidence::sample(self.trial, "readiness", &self.blotted(&format!("looked at again when the workload had failed: {text}")))
    }

    /// A text without the secrets that the program was given.
    pub(super) fn blotted(&self, text: &str) -> String {
        secrets::blot(text, &self.hidden).into_owned()
    }
}
