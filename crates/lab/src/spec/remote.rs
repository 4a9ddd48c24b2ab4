//! `on` and `lease`: the machine that a run is made on, where it is not this one.

use std::time::Duration;

use bystander_model::address::Address;

use super::duration;
use super::problems::Problems;
use super::table::Table;

/// Another machine, as the file asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remote {
    /// `on`: the machine.
    pub on: Option<Address>,
    /// `lease`: how long the run goes on there without anybody here.
    pub lease: Option<Duration>,
}

pub(super) fn read(root: &Table<'_>, problems: &mut Problems<'_>) -> Remote {
    let on = root.get("on").and_then(|item| {
        let text = item.some_text(problems)?;
        text.parse().map_err(|error| problems.push(&item.span, item.invalid(&format!("is no address of a machine: {error}")))).ok()
    });
    Remote { on, lease: root.get("lease").and_then(|item| duration::read(&item, false, problems)) }
}
