//! The ports that the file fixes: whoever listens there before the launch would be taken for the program, or keep it from starting.
//!
//! A `{port}` is picked among those that are free, and needs no look.

use bystander_lab::cause::Contamination;
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::Plan;
use bystander_supervise::{census, listener, tree, user};

use super::leftovers::whose;
use super::{finding, words};
use crate::local::LocalPlace;

/// Every fixed port that somebody holds.
pub(super) fn held(plan: &Plan, order: &TrialOrder, place: &LocalPlace) -> Vec<Contamination> {
    plan.fixed_ports(Some(&order.slot.cell)).into_keys().filter_map(|port| taken(port, order, place)).collect()
}

fn taken(port: u16, order: &TrialOrder, place: &LocalPlace) -> Option<Contamination> {
    let holder = listener::listener_of(port)?;
    let process = holder.pid.and_then(tree::process);
    let who = match (&process, holder.pid) {
        (Some(process), _) => words::process(process),
        (None, Some(pid)) => format!("pid {pid}, which is just ending"),
        (None, None) => format!("a process of user {}, which may not be looked into", user(holder.uid)),
    };
    let left = process.as_ref().and_then(|process| whose(census::marker_of(process.pid)?.as_str(), order, place));
    let left = left.map_or_else(String::new, |left| format!(", {left}"));
    let end = holder.pid.map_or_else(|| "end it".to_owned(), |pid| format!("end it (kill {pid})"));
    let text = format!("port {port} is held by {who}{left}; {end}, or write `{{port}}` so that every launch gets a free port of its own");
    Some(finding(order, "port_in_use", &format!("port {port}"), text))
}
