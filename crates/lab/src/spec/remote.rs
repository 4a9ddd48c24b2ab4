//! `on` and `lease`: the machine that a run is made on, where it is not this one.

use std::time::Duration;

use bystander_model::address::{Address, AddressError};
use bystander_model::diagnostic::Diagnostic;

use super::duration;
use super::item::Item;
use super::problems::Problems;
use super::table::Table;

/// The shortest lease: a sign of life is sent every 2 s, and may be late.
pub const LEAST_LEASE: Duration = Duration::from_secs(5);

/// Another machine, as the file asks for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Remote {
    /// `on`: the machine.
    pub on: Option<Address>,
    /// `lease`: how long the run goes on there without anybody here.
    pub lease: Option<Duration>,
    /// What is wrong with a lease where nothing else names a machine: the file does not.
    pub lone: Option<Diagnostic>,
}

pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Remote {
    let named = root.get("on");
    let on = named.as_ref().and_then(|item| address(item, problems));
    let written = root.get("lease");
    let lease = written.as_ref().and_then(|item| {
        let span = duration::read(item, false, problems)?;
        if span < LEAST_LEASE {
            let why = format!("is shorter than {} s; a sign of life is sent every 2 s, and may be late", LEAST_LEASE.as_secs());
            problems.push(&item.span, item.invalid(&why));
        }
        Some(span)
    });
    let lone = written.filter(|_| named.is_none()).map(|item| {
        let why = "says nothing without a machine: this run is made here";
        problems.placed(&item.span, item.invalid(why).help("name the machine with `on = \"ssh://user@host\"`, or leave `lease` out"))
    });
    Remote { on, lease, lone }
}

fn address(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<Address> {
    let text = item.some_text(problems)?;
    let read = text.parse::<Address>();
    if let Err(error) = &read {
        let help = match error {
            AddressError::Scheme if format!("ssh://{text}").parse::<Address>().is_ok() => format!("write `on = \"ssh://{text}\"`"),
            _ => "write it such as `on = \"ssh://user@host\"`".to_owned(),
        };
        problems.push(&item.span, item.invalid(&format!("is no address of a machine: {error}")).help(help));
    }
    read.ok()
}
