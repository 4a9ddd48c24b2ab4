//! vLLM: what its log says about the memory of each rank, from the first engine (0.2) to 0.33.
//!
//! [`ENGINE`] is what `explain` knows of it. The reader ([`reader`]) turns lines ([`line`]) into facts under the names of [`names`]; [`semantics`] says what
//! the share of the card means in the releases that the log allows; [`inputs`] picks the numbers of one rank, [`ledger`] and [`formula`] put them together,
//! and [`rules`] judge. Shares are `gpu_memory_utilization`.

mod advice;
mod amount;
mod arguments;
mod formula;
mod inputs;
mod ledger;
mod line;
mod names;
mod prefix;
mod reader;
mod rules;
mod semantics;
mod stated;
mod trial;
mod unsure;

pub use self::trial::VllmReader;
use crate::explain::Engine;

/// What `explain` has to know of vLLM.
pub static ENGINE: Engine = Engine {
    name: "vllm",
    texts: || line::TEXTS.to_vec(),
    reader: || Box::new(reader::LogReader::default()),
    ledger: ledger::ranks,
    formula: formula::of,
    tokens: formula::printed,
    rules: rules::RULES,
    not_modelled: unsure::not_modelled,
    contradictions: unsure::contradictions,
};
