//! What is drawn for each launch beside its place in the order: a seed for the program, and the length of the padding of its environment.
//!
//! The size of the environment moves the stack, and with it alignments that can change a run time by per cents (Mytkowicz et al., ASPLOS 2009). It is
//! drawn anew for every launch, from the same distribution in all cells, so that it is noise and no difference between cells.

use bystander_model::event::{Purpose, Slot};

use super::draw::Draws;

/// The tags of the streams.
const SEED_VERSION: &str = "seeds-v1";
const PADDING_VERSION: &str = "pads--v1";

/// The variable that pads the environment of a launch; the record has its length for its value.
pub const PADDING_VARIABLE: &str = "BYSTANDER_PADDING";

/// The most bytes of padding, exclusive: a page, after which alignments repeat.
pub const PADDING_BYTES: u64 = 4096;

/// Gives the seed that a program is handed as `{seed}`: the same for every cell of a block, below 2^31 so that every generator takes it.
#[must_use]
pub fn seed_of_block(seed: u64, block: u32) -> u32 {
    let drawn = Draws::of([seed, u64::from(block), 0], SEED_VERSION).below(1 << 31);
    u32::try_from(drawn).unwrap_or(0)
}

/// Gives the length of the padding of one launch, in bytes; each attempt at a place has its own.
#[must_use]
pub fn padding_of(seed: u64, slot: &Slot) -> u32 {
    let purpose = match slot.purpose {
        Purpose::Measure => 0,
        Purpose::Gate => 1,
        Purpose::Clean => 2,
        Purpose::Confirm => 3,
    };
    let place = u64::from(slot.position) << 32 | u64::from(slot.attempt);
    let drawn = Draws::of([seed, u64::from(slot.block) << 2 | purpose, place], PADDING_VERSION).below(PADDING_BYTES);
    u32::try_from(drawn).unwrap_or(0)
}
