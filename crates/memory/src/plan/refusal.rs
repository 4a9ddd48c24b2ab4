//! What no engine can share out: heads, experts, blocks of quantised weights, layers.

use super::shape::{Shape, Store, share_of_heads};

/// Heads that do not share out evenly.
pub(super) fn heads(shape: &Shape, ranks: u64) -> Option<String> {
    if shape.heads > 0 && !shape.heads.is_multiple_of(ranks) {
        return Some(format!("{} attention heads cannot be shared out over {ranks} ranks", shape.heads));
    }
    shape.attention().find_map(|attention| match attention.store {
        Store::Heads { heads, .. } if heads >= ranks && !heads.is_multiple_of(ranks) => {
            Some(format!("{heads} KV heads cannot be shared out over {ranks} ranks"))
        }
        Store::Heads { heads, .. } if heads < ranks && !ranks.is_multiple_of(heads) => {
            Some(format!("{heads} KV heads cannot be copied evenly over {ranks} ranks"))
        }
        _ => None,
    })
}

/// States that do not share out evenly.
pub(super) fn states(shape: &Shape, ranks: u64) -> Option<String> {
    shape
        .states()
        .any(|state| state.size(ranks).is_none())
        .then(|| format!("the heads of its recurrent layers cannot be shared out over {ranks} ranks"))
}

/// Experts that do not share out evenly.
pub(super) fn experts(shape: &Shape, ranks: u64) -> Option<String> {
    let experts = shape.experts?;
    (!experts.count.is_multiple_of(ranks.max(1))).then(|| format!("{} experts cannot be shared out over {ranks} ranks", experts.count))
}

/// Fewer layers than stages.
pub(super) fn stages(shape: &Shape, stages: u64) -> Option<String> {
    let layers = shape.layers.len() as u64;
    (stages > layers).then(|| format!("{layers} layers cannot be shared out over {stages} stages"))
}

/// A dense feed-forward part that does not share out evenly.
///
/// Source: SGLang and vLLM, both `layers/linear.py: MergedColumnParallelLinear`.
pub(super) fn width(shape: &Shape, ranks: u64) -> Option<String> {
    let width = shape.intermediate.filter(|_| shape.experts.is_none() && shape.attention().next().is_some())?;
    (!width.is_multiple_of(ranks.max(1)))
        .then(|| format!("{width} columns of the feed-forward part cannot be shared out over {ranks} ranks"))
}

/// Quantised weights whose blocks would be cut: attention over some ranks, dense parts over others, each expert over others still.
///
/// Source: SGLang and vLLM, both `layers/quantization/fp8.py`: the share of each rank must be a multiple of the block.
pub(super) fn blocks(shape: &Shape, attention: u64, dense: u64, expert: u64) -> Option<String> {
    let quantisation = shape.quantisation.as_ref()?;
    if let Some((rows, columns)) = quantisation.block.filter(|_| quantisation.is_block_fp8()) {
        let step = rows.max(columns);
        let cut = |what: &str, width: u64, ranks: u64| {
            let share = width / ranks.max(1);
            let is_cut = ranks > 1 && (!share.is_multiple_of(rows) || !share.is_multiple_of(columns));
            is_cut.then(|| {
                format!("{width} / {ranks} = {share} {what} on each rank, which is not a multiple of the quantisation block of {step}")
            })
        };
        let experts = shape.experts.and_then(|experts| cut("columns of each expert", experts.intermediate, expert));
        let experts = experts
            .map(|text| if expert > 1 { format!("{text}; experts that are shared out whole (expert parallel) would work") } else { text });
        return experts.or_else(|| attention_blocks(shape, attention, rows, columns)).or_else(|| {
            shape.intermediate.filter(|_| has_dense(shape)).and_then(|width| cut("columns of the feed-forward part", width, dense))
        });
    }
    let group = quantisation.group.filter(|_| matches!(quantisation.method.as_str(), "awq" | "gptq"))?;
    let width = shape.experts.map_or(shape.intermediate, |experts| Some(experts.intermediate))?;
    let ranks = if shape.experts.is_some() { expert } else { dense };
    (!(width / ranks.max(1)).is_multiple_of(group)).then(|| {
        format!(
            "{width} / {ranks} = {} inputs on each rank, which is not a multiple of the quantisation group of {group}",
            width / ranks.max(1)
        )
    })
}

fn attention_blocks(shape: &Shape, ranks: u64, rows: u64, columns: u64) -> Option<String> {
    if ranks <= 1 {
        return None;
    }
    let (outputs, inputs) = match (shape.latent_widths, shape.attention().next()?.store) {
        (Some((_, nope, value)), _) => (shape.heads / ranks * (nope + value), shape.heads / ranks * value),
        (None, Store::Heads { heads, key, value }) => (share_of_heads(heads, ranks) * key.min(value), shape.heads / ranks * value),
        (None, Store::Latent { .. }) => return None,
    };
    let cut = !outputs.is_multiple_of(rows) || !inputs.is_multiple_of(columns);
    cut.then(|| {
        format!(
            "{outputs} outputs and {inputs} inputs of attention on each of {ranks} ranks are not multiples of the quantisation block of {}",
            rows.max(columns)
        )
    })
}

/// Whether there is a dense feed-forward part in every or in some layer.
fn has_dense(shape: &Shape) -> bool {
    shape.experts.is_none() || shape.latent_widths.is_some()
}
