//! Rules that hold for every engine; each looks at the facts and names one kind of cause.

pub mod device;
pub mod host;
pub mod platform;

use super::Rule;

/// The rules, the surest first.
pub static SHARED: &[Rule] = &[
    device::out_of_memory_with_room,
    host::shared_memory,
    device::wrong_device,
    device::held_by_others,
    platform::misreports,
    device::outside_of_the_share,
    host::killed,
    host::communication,
    platform::driver,
    platform::left_behind,
];
