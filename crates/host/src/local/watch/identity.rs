//! Whose the server is that the workload goes to: what is measured must be of this trial.

use bystander_lab::cause::Contamination;
use bystander_lab::place::{Emit, RecordRefused};
use bystander_lab::plan::Template;
use bystander_model::event::EventBody;
use bystander_model::evidence::Evidence;
use bystander_supervise::ask::AskError;
use bystander_supervise::listener::Holder;
use bystander_supervise::trial::Trial;

use super::{Watch, goes_to};

/// The address of built-in traffic, and what was seen of it before the first request.
#[derive(Debug)]
pub(super) struct Target {
    url: String,
    /// Whether the trial's own processes, and nobody else, listened there.
    was_own: bool,
    /// Whether it is another machine's, of which nothing can be seen.
    elsewhere: bool,
}

impl Watch<'_> {
    /// Looks who listens on the program's ports that the command of the workload names. A stranger voids the trial, before anything is asked.
    pub(super) fn look_at_ports(&mut self, trial: &Trial, fill: &[(&str, &str)]) {
        let given = fill.iter().find(|(name, _)| *name == "port").and_then(|(_, port)| port.parse().ok());
        self.asked_ports = goes_to::ports(self.plan, self.cell, given);
        self.look_at_ports_again(trial);
    }

    /// Looks again when the command has ended. Who was there meanwhile, and is not any more, cannot be told.
    pub(super) fn look_at_ports_again(&mut self, trial: &Trial) {
        if self.exited {
            return;
        }
        let strangers: Vec<(u16, Holder)> = self.asked_ports.iter().filter_map(|port| Some((*port, trial.stranger_at(*port)?))).collect();
        if let Some((port, by)) = strangers.first() {
            let text = strange(&format!("the workload goes to port {port}"), by, "the commands of the program and of the workload");
            self.void(&format!("port {port}"), &text);
            self.asked_ports.clear();
        }
    }

    /// Looks who listens where the traffic is to go. A stranger voids the trial, before anything is sent.
    pub(super) fn look_at_target(&mut self, trial: &Trial, fill: &[(&str, &str)], emit: &mut Emit<'_>) -> Result<(), RecordRefused> {
        let Some(load) = self.plan.workload.as_ref().and_then(|workload| workload.traffic.as_ref()) else { return Ok(()) };
        let url = Template(load.url.clone()).fill(fill);
        let seen = trial.listener(&url);
        if let Err(AskError::Foreign { by, .. }) = &seen {
            self.measures(&url, by);
        }
        let elsewhere = matches!(seen, Err(AskError::NotHere { .. }));
        if elsewhere {
            emit(EventBody::Note {
                text: format!("{url} is no address of this machine: whether this trial's program answers there is not known"),
            })?;
        }
        self.target = Some(Target { url, was_own: seen.is_ok(), elsewhere });
        Ok(())
    }

    /// Looks again when the traffic has ended: whoever answered is still there, and still the trial's.
    pub(super) fn look_at_target_again(&mut self, trial: &Trial) {
        let Some(target) = self.target.take().filter(|target| !target.elsewhere && !self.exited) else { return };
        let answered = self.done.as_ref().and_then(|done| done.traffic.as_ref()).is_some_and(|traffic| traffic.completed > 0);
        match trial.listener(&target.url) {
            Err(AskError::Foreign { by, .. }) => self.measures(&target.url, &by),
            Err(AskError::Nobody { .. } | AskError::Elsewhere { .. }) if answered && !target.was_own => {
                let text = format!(
                    "the traffic went to {}, where no process of this trial listened, neither before nor after; somebody else answered it",
                    target.url
                );
                self.void(&target.url, &text);
            }
            _ => {}
        }
    }

    fn measures(&mut self, url: &str, by: &Holder) {
        let text = strange(&format!("the traffic goes to {url}"), by, "the command and in `url`");
        self.void(url, &text);
    }

    fn void(&mut self, url: &str, text: &str) {
        let text = self.blotted(text);
        let evidence = vec![Evidence::sample(self.trial, url, &text)];
        self.facts.contamination.push(Contamination { class: "port_in_use".to_owned(), text, evidence });
    }
}

/// Says that somebody else listens where the workload goes, and what to do about it.
fn strange(goes: &str, by: &Holder, at: &str) -> String {
    let who = super::super::told(by);
    let end = by.pid.map_or_else(|| "end it".to_owned(), |pid| format!("end it (kill {pid})"));
    format!(
        "{goes}, where {who} listens, which is not of this trial; {end}, or write `{{port}}` in {at}, so that every launch gets a free port of its own"
    )
}
