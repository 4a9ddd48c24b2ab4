//! What vLLM refuses to start.

use crate::plan::refusal;
use crate::plan::setup::Setup;
use crate::plan::shape::Shape;

/// Why a start is refused, where it is.
pub(super) fn refused(shape: &Shape, setup: &Setup) -> Option<String> {
    let cut = if setup.expert.is_some() { 1 } else { setup.tensor * setup.data };
    refusal::heads(shape, setup.tensor)
        .or_else(|| refusal::width(shape, setup.tensor))
        .or_else(|| refusal::states(shape, setup.tensor))
        .or_else(|| refusal::blocks(shape, setup.tensor, setup.tensor, cut))
        .or_else(|| refusal::stages(shape, setup.pipeline))
        .or_else(|| longer(shape, setup))
}

fn longer(shape: &Shape, setup: &Setup) -> Option<String> {
    let (asked, most) = setup.context.zip(shape.context)?;
    (asked > most && !setup.longer_context_allowed)
        .then(|| format!("a context of {asked} tokens is more than the model's {most} (VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 lets it through)"))
}
