//! Where the GPU memory of one rank goes: an identity of terms, each with its source. Amounts in GiB = 2^30 bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::evidence::Evidence;

/// A figure with the range that its rounded sources leave; `low == high == value` where it is exact. JSON has it without the noise that sums of decimals leave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The best value.
    #[serde(serialize_with = "quietly")]
    pub value: f64,
    /// The least value that the sources allow.
    #[serde(serialize_with = "quietly")]
    pub low: f64,
    /// The greatest value that the sources allow.
    #[serde(serialize_with = "quietly")]
    pub high: f64,
}

impl Figure {
    /// A figure without error.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// The same figure, each of its three [`without_noise`].
    #[must_use]
    pub fn without_noise(self) -> Self {
        Self { value: without_noise(self.value), low: without_noise(self.low), high: without_noise(self.high) }
    }
}

/// A number without the last digits that sums and products of decimals leave: 14.04 for 14.040000000000004.
///
/// What is whole bytes in GiB stays as it is, since nothing was rounded there; all else keeps ten decimals, which is a tenth of a byte.
#[must_use]
pub fn without_noise(number: f64) -> f64 {
    const BYTES: f64 = (1_u64 << 30) as f64;
    const DECIMALS: f64 = 1e10;
    let is_whole_bytes = (number * BYTES).fract() == 0.0;
    let rounded = (number * DECIMALS).round() / DECIMALS;
    // Nothing has no sign.
    0.0 + if is_whole_bytes || !rounded.is_finite() { number } else { rounded }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn quietly<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(without_noise(*number))
}

/// What the sizing of one server computes, with numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReport {
    /// The engine, such as `sglang`.
    pub engine: String,
    /// The versions that the evidence allows, such as `0.5.7` and `0.5.9`, and from what.
    pub version: VersionRange,
    /// The rank it was read from; the result is the same on all ranks, since the inputs are minima over ranks.
    pub rank: Option<u32>,
    /// Free memory before the weights, minimum over ranks.
    pub total_gib: Figure,
    /// Free memory after the weights, minimum over ranks.
    pub available_gib: Figure,
    /// The static fraction: what weights and KV cache together may take of `total_gib`.
    pub fraction: f64,
    /// `available - total * (1 - fraction)`: what is left for the KV cache.
    pub rest_gib: Figure,
    /// Bytes of KV cache per token and rank.
    pub cell_bytes: Option<u64>,
    /// Tokens of KV cache; zero or less means that the server cannot start.
    pub tokens: Option<Figure>,
    /// The equation with its numbers, such as `rest = 21.697 - 93.999 * (1 - 0.55) = -20.603 GiB`.
    pub equation: String,
    /// The fraction above which the KV cache is more than nothing: `1 - available / total`.
    pub break_even: Figure,
    /// Tokens at other fractions.
    pub alternatives: Vec<Alternative>,
    /// What the numbers mean, in sentences.
    pub text: Vec<String>,
    /// The sources of the inputs.
    pub evidence: Vec<Evidence>,
    /// What the formula does not cover here.
    pub not_modelled: Vec<String>,
    /// Why the server is of little use though it serves, and what to turn; absent where nothing says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_little_use: Option<String>,
}

/// What another fraction would give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// The static fraction.
    pub fraction: f64,
    /// What it leaves for the KV cache.
    pub rest_gib: Figure,
    /// Tokens, where the bytes per token are known.
    pub tokens: Option<Figure>,
    /// What is left for everything else: graphs, activations, request table.
    pub headroom_gib: Figure,
}

/// The versions that the evidence allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionRange {
    /// The oldest version.
    pub low: Option<String>,
    /// The newest version.
    pub high: Option<String>,
    /// The lines it was told from.
    pub from: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::{Figure, without_noise};

    #[test]
    fn a_figure_is_written_without_the_noise_of_decimals() {
        let sum = Figure { value: 94.0 - 79.96, low: 0.1 + 0.2, high: 23.45 * 0.6 };
        assert_eq!(serde_json::to_string(&sum).expect("JSON"), r#"{"value":14.04,"low":0.3,"high":14.07}"#);
    }

    #[test]
    fn whole_bytes_and_what_is_no_amount_stay() {
        let byte = 1.0 / f64::from(1 << 30);
        for number in [0.0, byte, 421_755.0, -20.5, 3.0 * byte + 7.0, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(without_noise(number).to_bits(), number.to_bits());
        }
        assert!(without_noise(f64::NAN).is_nan());
        assert!([-0.0, 2.2 - 1.1 - 1.1 - 1e-16].into_iter().all(|nothing| without_noise(nothing).to_bits() == 0));
    }
}
