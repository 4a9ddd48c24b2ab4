//! Rules that hold for every engine; each looks at the facts and names one kind of cause.

pub mod device;

use super::Rule;

/// The rules, the surest first.
pub static SHARED: &[Rule] = &[device::out_of_memory_with_room];
