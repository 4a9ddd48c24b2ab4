//! How layers are shared out over the stages of a pipeline, by engine.

use super::setup::Engine;

/// The layers of each stage, from one to before another; one stage more than there are layers is empty.
///
/// Source: SGLang `distributed/utils.py` and vLLM `distributed/utils.py`, both `get_pp_indices`: what is left over goes to the last stages in SGLang, in vLLM to those
/// before the last.
#[must_use]
pub(super) fn stages(engine: Engine, layers: u64, stages: u64) -> Vec<(u64, u64)> {
    let stages = stages.max(1);
    let (each, over) = (layers / stages, layers % stages);
    let has_one_more = |stage: u64| match engine {
        Engine::Sglang => stage >= stages - over,
        Engine::Vllm => over > 0 && stage + 1 < stages && stage + 1 + over >= stages,
    };
    let mut from = 0;
    (0..stages)
        .map(|stage| {
            let to = from + each + u64::from(has_one_more(stage));
            let range = (from, to);
            from = to;
            range
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::stages;
    use crate::plan::setup::Engine;

    #[test]
    fn what_is_left_over_goes_where_the_engine_puts_it() {
        let lengths = |engine, layers, count| stages(engine, layers, count).iter().map(|(from, to)| to - from).collect::<Vec<_>>();
        assert_eq!(lengths(Engine::Sglang, 61, 4), [15, 15, 15, 16]);
        assert_eq!(lengths(Engine::Vllm, 61, 4), [15, 15, 16, 15]);
        assert_eq!(lengths(Engine::Vllm, 62, 4), [15, 16, 16, 15]);
        assert_eq!(lengths(Engine::Vllm, 63, 4), [16, 16, 16, 15]);
        assert_eq!(lengths(Engine::Sglang, 80, 2), [40, 40]);
        for engine in [Engine::Sglang, Engine::Vllm] {
            let all = stages(engine, 7, 3);
            assert_eq!((all[0].0, all[2].1), (0, 7));
        }
    }
}
