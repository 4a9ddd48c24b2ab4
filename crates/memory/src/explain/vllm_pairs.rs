//! Two pairs of KV cache and tokens: what grows with tokens, and what does not.
//!
//! A model whose layers keep different things for a token shows it only so: one pair gives a number of bytes per token that holds for no other size.

use bystander_model::memory::{Compared, Server, TermName};

use crate::figures::{decimal, whole};
use crate::formula::GIB;

/// The bytes of a token by the difference of two starts of the same engine, where they are not those of either start alone.
pub(super) fn compared(first: &Server, second: &Server) -> Option<Compared> {
    if first.engine != "vllm" || second.engine != "vllm" {
        return None;
    }
    let (kv, tokens) = pair(first)?;
    let (other_kv, other_tokens) = pair(second)?;
    let (more, more_tokens) = (other_kv.value - kv.value, other_tokens - tokens);
    // Two sizes that are nearly the same say nothing of what lies between.
    if more_tokens.abs() < 0.05 * tokens.max(other_tokens) || more * more_tokens <= 0.0 {
        return None;
    }
    let slope = more * GIB / more_tokens;
    let rounding = (kv.high - kv.low + other_kv.high - other_kv.low) / 2.0 * GIB / more_tokens.abs();
    let alone = [kv.value * GIB / tokens, other_kv.value * GIB / other_tokens];
    let fixed = kv.value - slope * tokens / GIB;
    if alone.iter().any(|alone| (slope - alone).abs() <= 2.0 * rounding) {
        return None;
    }
    Some(Compared {
        name: "bytes per token".to_owned(),
        first: format!("{} by its own pair", whole(alone[0])),
        second: format!(
            "{} by its own pair; {} (\u{b1}{}) by the difference, with {} GiB that do not grow with tokens",
            whole(alone[1]),
            whole(slope),
            whole(rounding),
            decimal(fixed, 2)
        ),
        difference_gib: None,
        difference_tokens: None,
    })
}

/// KV cache in GiB and tokens.
fn pair(server: &Server) -> Option<(bystander_model::budget::Figure, f64)> {
    let kv = server.ranks.iter().flat_map(|rank| &rank.terms).filter(|term| term.name == TermName::Kv).map(|term| term.gib);
    let kv = kv.min_by(|a, b| a.value.total_cmp(&b.value))?;
    let tokens = server.formula.as_ref()?.tokens?;
    (tokens.low >= tokens.high && tokens.value >= 1.0 && kv.low > 0.0).then_some((kv, tokens.value))
}
