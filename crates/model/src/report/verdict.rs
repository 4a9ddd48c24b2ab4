//! The words of answers, and how much stands behind one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The words of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A factor: a difference was shown.
    Effect,
    /// A factor: shown to lie within the margin.
    NoEffectWithin,
    /// A factor: an instrument changes the outcome, so the factor cannot be judged with it.
    InstrumentPerturbs,
    /// A factor: the baseline itself fails; nothing can be blamed on the factor.
    BaselineBroken,
    /// A factor: the instrument hides the effect.
    MaskedByInstrument,
    /// A factor: the data cannot decide; `needs` says what would.
    Insufficient,
    /// The run is contaminated or gated.
    Invalid,
    /// An instrument: shown to lie within the margin.
    Inert,
    /// An instrument: no difference; the text says what is not excluded.
    NoEffectSeen,
    /// An instrument: a difference was shown, or the failing frame lies on a line that it added.
    Perturbs,
    /// An instrument: the same failure happens without it.
    NotNeeded,
    /// An instrument: the data cannot decide.
    Undetermined,
    /// A hypothesis: every prediction held, as often as its level asks.
    Supported,
    /// A hypothesis: a counterexample was seen.
    Refuted,
    /// A hypothesis: neither.
    Open,
}

impl Verdict {
    /// The word used in files, tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Effect => "effect",
            Verdict::NoEffectWithin => "no_effect_within",
            Verdict::InstrumentPerturbs => "instrument_perturbs",
            Verdict::BaselineBroken => "baseline_broken",
            Verdict::MaskedByInstrument => "masked_by_instrument",
            Verdict::Insufficient => "insufficient",
            Verdict::Invalid => "invalid",
            Verdict::Inert => "inert",
            Verdict::NoEffectSeen => "no_effect_seen",
            Verdict::Perturbs => "perturbs",
            Verdict::NotNeeded => "not_needed",
            Verdict::Undetermined => "undetermined",
            Verdict::Supported => "supported",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
        }
    }
}

/// How much stands behind an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// One launch per arm.
    Anecdotal,
    /// Two or three, all alike.
    Consistent,
    /// The declared rule is met, or a counterexample suffices.
    Shown,
}

impl Strength {
    /// The word used in files, tables and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Strength::Anecdotal => "anecdotal",
            Strength::Consistent => "consistent",
            Strength::Shown => "shown",
        }
    }
}
