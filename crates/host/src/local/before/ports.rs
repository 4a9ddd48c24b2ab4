//! The ports that the file fixes: whoever listens there before the launch would be taken for the program, or keep it from starting.
//!
//! A `{port}` is picked among those that are free, and needs no look.

use std::collections::BTreeSet;

use bystander_lab::cause::Contamination;
use bystander_lab::place::TrialOrder;
use bystander_lab::plan::{Plan, Template};
use bystander_supervise::{census, listener, tree};

use super::leftovers::whose;
use super::{finding, words};
use crate::local::LocalPlace;

/// Every fixed port that somebody holds.
pub(super) fn held(plan: &Plan, order: &TrialOrder, place: &LocalPlace) -> Vec<Contamination> {
    fixed(plan).into_iter().filter_map(|port| taken(port, order, place)).collect()
}

/// The ports that the conditions of readiness name as numbers, each once.
fn fixed(plan: &Plan) -> BTreeSet<u16> {
    let Some(ready) = &plan.program.ready else { return BTreeSet::new() };
    let named = ready.addresses().filter_map(|address| of_address(&address.0));
    named.chain(ready.port.as_ref().and_then(|port: &Template| port.0.trim().parse().ok())).collect()
}

/// The port of an address, where it stands there as a number.
fn of_address(address: &str) -> Option<u16> {
    let rest = address.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

fn taken(port: u16, order: &TrialOrder, place: &LocalPlace) -> Option<Contamination> {
    let holder = listener::listener_of(port)?;
    let process = holder.pid.and_then(tree::process);
    let who = match (&process, holder.pid) {
        (Some(process), _) => words::process(process),
        (None, Some(pid)) => format!("pid {pid}, which is just ending"),
        (None, None) => format!("a process of user {}, which may not be looked into", holder.uid),
    };
    let left = process.as_ref().and_then(|process| whose(census::marker_of(process.pid)?.as_str(), order, place));
    let left = left.map_or_else(String::new, |left| format!(", {left}"));
    let end = holder.pid.map_or_else(|| "end it".to_owned(), |pid| format!("end it (kill {pid})"));
    let text = format!("port {port} is held by {who}{left}; {end}, or write `{{port}}` so that every launch gets a free port of its own");
    Some(finding(order, "port_in_use", &format!("port {port}"), text))
}

#[cfg(test)]
mod tests {
    use super::of_address;

    #[test]
    fn the_port_of_an_address_is_read_where_it_is_a_number() {
        assert_eq!(of_address("http://127.0.0.1:8000/health"), Some(8000));
        assert_eq!(of_address("http://[::1]:8000"), Some(8000));
        assert_eq!(of_address("http://localhost:8000?a=b:7"), Some(8000));
        for none in ["http://127.0.0.1:{port}/health", "http://localhost/", "http://[::1]/", "8000"] {
            assert_eq!(of_address(none), None, "{none}");
        }
    }
}
