//! The time limit of a trial: what the program had written by then is read before anything is said, and what cannot be told is not said.

use bystander_lab::cause::{Contamination, StopWhy};
use bystander_model::evidence::Evidence;
use bystander_supervise::ready::Readiness;
use bystander_supervise::trial::{AtLimit, Trial};

use super::Watch;

impl Watch<'_> {
    /// Whether the program is to be ended, now that its time is over; nothing as long as that is not known.
    pub(super) fn at_limit(&mut self, trial: &mut Trial) -> Option<StopWhy> {
        self.limit = Some(trial.limit());
        if self.workload.as_mut().is_some_and(|workload| !workload.has_told_by_now()) {
            return None;
        }
        match trial.at_limit() {
            AtLimit::Open => return None,
            AtLimit::Over => {}
            AtLimit::Unknown(why) => self.behind(&why),
        }
        Some(StopWhy::TimeLimit { limit_s: self.limit_s() })
    }

    /// Whether the program was ready only after its time was over.
    pub(super) fn is_late(&mut self, readiness: &Readiness, after_s: f64) -> bool {
        let late = self.limit.is_some_and(|limit| readiness.time_ns > limit);
        if late {
            self.facts.unready = Some(format!("it was ready {after_s:.2} s after its start"));
        }
        late
    }

    fn limit_s(&self) -> f64 {
        self.plan.program.timeout.as_secs_f64()
    }

    /// This program was behind with its reading, and the trial says nothing about the one under test.
    fn behind(&mut self, why: &str) {
        let text = format!(
            "Bystander was behind with reading what the program wrote when its {} s were over, and whether it was ready by then cannot be told: {why}; \
             leave the machine more time for Bystander, or raise `timeout`",
            self.limit_s()
        );
        let evidence = vec![Evidence::sample(self.trial, "output", why)];
        self.facts.contamination.push(Contamination { class: "behind".to_owned(), text, evidence });
    }
}
