//! Cells: one combination of levels and instruments.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The instrument level that means: nothing is put in.
pub const NO_INSTRUMENT: &str = "none";

/// One combination of levels, and the instruments that go in together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Factor name to level name, in the order of the file.
    pub levels: IndexMap<String, String>,
    /// The instrument level: `none`, a name, or names joined by `+`.
    pub instrument: String,
}

impl Cell {
    /// Whether nothing is put in to see.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.instrument == NO_INSTRUMENT
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for level in self.levels.values() {
            write!(f, "{level}/")?;
        }
        f.write_str(&self.instrument)
    }
}
