//! What shows that a program was ready, in words without its secrets.

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_supervise::ready::Readiness;

use super::super::told;
use super::Watch;
use crate::secrets;

impl Watch<'_> {
    pub(super) fn evidence_of(&self, readiness: &Readiness) -> Vec<Evidence> {
        let log = readiness.log.as_ref().map(|line| Evidence::log(self.trial, line.stream, line.number, line.text().trim_end()));
        let http = readiness.http.as_ref().map(|answer| Evidence {
            trial: Some(self.trial),
            kind: EvidenceKind::Http,
            place: answer.url.clone(),
            text: match &readiness.listener {
                Some(holder) => format!("answered {} by {} of this trial", answer.status, self.blotted(&told(holder))),
                None => format!("answered {}", answer.status),
            },
        });
        let port = readiness.listener.as_ref().filter(|_| readiness.http.is_none()).map(|holder| {
            let text = format!("{} of this trial listens", self.blotted(&told(holder)));
            Evidence::sample(self.trial, "/proc/net/tcp", &text)
        });
        log.into_iter().chain(http).chain(port).collect()
    }

    /// A text without the secrets that the program was given.
    pub(super) fn blotted(&self, text: &str) -> String {
        secrets::blot(text, &self.hidden).into_owned()
    }
}
