//! What SGLang refuses to start.

use crate::plan::refusal;
use crate::plan::setup::Setup;
use crate::plan::shape::Shape;
use crate::version::Release;

/// Why a start is refused, where it is.
pub(super) fn refused(shape: &Shape, setup: &Setup, release: Release) -> Option<String> {
    let ranks = setup.attention_ranks();
    if setup.attention_is_data_parallel && !setup.tensor.is_multiple_of(setup.data.max(1)) {
        return Some(format!(
            "with DP attention the {} ranks are shared out over {} copies, which does not go evenly",
            setup.tensor, setup.data
        ));
    }
    if let Some(experts) = setup.expert.map(|experts| experts.min(setup.tensor)).filter(|experts| !setup.tensor.is_multiple_of(*experts)) {
        return Some(format!("--ep-size {experts} does not divide --tp-size {}", setup.tensor));
    }
    let whole_experts = setup.expert.map_or(1, |experts| experts.min(setup.tensor));
    let cut = setup.tensor / whole_experts.max(1);
    refusal::heads(shape, ranks)
        .or_else(|| refusal::width(shape, setup.tensor))
        .or_else(|| refusal::states(shape, ranks))
        .or_else(|| refusal::experts(shape, whole_experts))
        .or_else(|| refusal::blocks(shape, ranks, setup.tensor, cut))
        .or_else(|| refusal::stages(shape, setup.pipeline))
        .or_else(|| longer(shape, setup))
        .or_else(|| sparse(shape, release))
}

fn longer(shape: &Shape, setup: &Setup) -> Option<String> {
    let (asked, most) = setup.context.zip(shape.context_sglang)?;
    (asked > most && !setup.longer_context_allowed).then(|| {
        format!("a context of {asked} tokens is more than the model's {most} (SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 lets it through)")
    })
}

fn sparse(shape: &Shape, release: Release) -> Option<String> {
    (shape.index_width().is_some() && release < Release(0, 5, 3)).then(|| "sparse attention with an index is known since 0.5.3".to_owned())
}
