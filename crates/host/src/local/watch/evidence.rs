//! What shows that a program was ready, in words without its secrets.

use bystander_model::evidence::Evidence;
use bystander_model::ids::TimeNs;
use bystander_supervise::ready::Readiness;
use bystander_supervise::trial::Trial;

use super::super::ready;
use super::Watch;
use crate::secrets;

/// Work that fails so soon after a program was ready may have come too early, in seconds; later it is the work that broke something.
const EARLY_S: f64 = 30.0;

impl Watch<'_> {
    pub(super) fn evidence_of(&self, readiness: &Readiness, started: TimeNs) -> Vec<Evidence> {
        let found = ready::evidence(self.trial, readiness, started).into_iter();
        found.map(|evidence| Evidence { text: self.blotted(&evidence.text), ..evidence }).collect()
    }

    /// Looks whether a program whose workload has failed at once still is what it was when it counted as ready.
    pub(super) fn look_again(&mut self, trial: &Trial) {
        let Some(ready) = &self.facts.ready else { return };
        let failed = self.facts.workload.as_ref().is_some_and(|end| !end.succeeded() && !end.timed_out);
        if self.exited || !failed || trial.now_ns().seconds_since(ready.at) > EARLY_S {
            return;
        }
        if let Err(why) = trial.still_ready() {
            let text = self.blotted(&format!("looked at again when the workload had failed: {why}"));
            self.facts.too_early.get_or_insert_with(|| Evidence::sample(self.trial, "readiness", &text));
        }
    }

    /// A text without the secrets that the program was given.
    pub(super) fn blotted(&self, text: &str) -> String {
        secrets::blot(text, &self.hidden).into_owned()
    }
}
