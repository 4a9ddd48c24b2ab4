//! What shows that a program was ready, in words without its secrets.

use bystander_lab::cause::Unanswering;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_supervise::ready::Readiness;
use bystander_supervise::trial::Trial;

use super::super::ready;
use super::Watch;
use crate::secrets;

/// Work that fails so soon after a program was ready may have come too early, in seconds; later it is the work that broke something.
const EARLY_S: f64 = 30.0;
/// The kind of error of built-in traffic that says that no answer came in time.
const TIMEOUT: &str = "timeout";

impl Watch<'_> {
    pub(super) fn evidence_of(&self, readiness: &Readiness, started: TimeNs) -> Vec<Evidence> {
        let found = ready::evidence(self.trial, readiness, started).into_iter();
        found.map(|evidence| Evidence { text: self.blotted(&evidence.text), ..evidence }).collect()
    }

    /// Looks at a program whose workload has failed, while it lives: whether it still is what it was when it counted as ready, and where it stands.
    pub(super) fn look_again(&mut self, trial: &Trial) {
        let (Some(ready), Some(end)) = (&self.facts.ready, &self.facts.workload) else { return };
        if self.exited || end.succeeded() {
            return;
        }
        let early = trial.now_ns().seconds_since(ready.at) <= EARLY_S && !end.timed_out;
        let traffic = self.done.as_ref().and_then(|done| done.traffic.as_ref());
        let late_answers = traffic.is_some_and(|traffic| traffic.errors.contains_key(TIMEOUT));
        let served = traffic.is_some_and(|traffic| traffic.completed > 0 || traffic.chunks > 0);
        let timed_out = end.timed_out;
        let lapse = trial.still_ready().err();
        let silent = lapse.as_ref().is_some_and(|lapse| lapse.silent);
        if silent || late_answers || timed_out {
            self.stall.of_unanswering(trial);
        }
        let Some(lapse) = lapse else { return };
        let text = self.blotted(&format!("looked at again when the workload had failed: {}", lapse.why));
        let shown = Evidence::sample(self.trial, "readiness", &text);
        // Who refuses the first that is asked was never ready for it; who took it and said nothing hangs.
        if early && !silent && !served && !late_answers {
            self.facts.too_early = Some(shown);
        } else {
            self.facts.unanswering = Some(Unanswering { shown, silent });
        }
    }

    /// A text without the secrets that the program was given.
    pub(super) fn blotted(&self, text: &str) -> String {
        secrets::blot(text, &self.hidden).into_owned()
    }
}
