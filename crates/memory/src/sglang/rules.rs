//! What may be wrong with a server of SGLang: one rule a function, the surest first.
//!
//! The same words have opposite cures in different phases: too small a pool wants a higher fraction, too little room for what comes after it a lower one.

mod configuration;
mod device;
mod draft;
mod host;
mod running;
mod sizing;
mod state;

use crate::explain::Rule;
use crate::explain::causes::device as shared;

/// The rules in their order.
pub(super) static RULES: &[Rule] = &[
    sizing::detection,
    configuration::second_check,
    configuration::unbalanced,
    state::no_room,
    state::window,
    configuration::advice_followed,
    draft::no_value_between,
    configuration::other_process,
    configuration::others_fraction,
    sizing::another_base,
    sizing::weights_leave_nothing,
    sizing::not_enough,
    sizing::no_request,
    sizing::will_not_fit,
    device::refused_with_room,
    shared::wrong_device,
    shared::held_by_others,
    draft::at_the_draft,
    device::during_load,
    device::during_pools,
    device::during_capture,
    device::at_run_time,
    device::outside_of_the_share,
    device::in_communication,
    device::capture_stands_still,
    configuration::peer_access,
    host::too_much_on_the_host,
    running::exhausted,
    running::hybrid_starved,
    running::smaller_than_memory_allows,
    running::below_the_context,
    running::next_to_nothing,
    running::graphs_take_the_most,
    running::healthy,
];
