//! What the functions of a traceback say of the phase, where the lines that would say it are not in the log: people paste the end of a log.

use bystander_model::memory::Phase;

/// Functions by which engines go through a phase and no other.
const FRAMES: &[(&str, Phase)] = &[
    // SGLang and vLLM.
    (":load_model ", Phase::WeightLoad),
    (":load_weights ", Phase::WeightLoad),
    (":create_weights ", Phase::WeightLoad),
    (":process_weights_after_loading ", Phase::WeightLoad),
    // vLLM: the profile run, then the cache.
    (":determine_available_memory ", Phase::PoolSizing),
    (":determine_num_available_blocks ", Phase::PoolSizing),
    (":profile_run ", Phase::PoolSizing),
    (":profile_cudagraph_memory ", Phase::PoolSizing),
    (":initialize_kv_cache ", Phase::PoolSizing),
    // SGLang.
    (":init_memory_pool ", Phase::PoolSizing),
    (":alloc_memory_pool ", Phase::PoolSizing),
    (":init_cuda_graphs ", Phase::GraphCapture),
    (":init_device_graphs ", Phase::GraphCapture),
    (":init_all_cuda_graphs ", Phase::GraphCapture),
    // vLLM.
    (":capture_model ", Phase::GraphCapture),
];

/// Loops of servers that have started: whatever goes through them is for requests.
const SERVING: &[&str] = &[":event_loop_normal ", ":event_loop_overlap ", ":run_busy_loop "];

/// The phase of an error by the functions that it went through; never one that is earlier than the lines say.
pub(crate) fn phase(through: &str, seen: Phase) -> Phase {
    if SERVING.iter().any(|name| through.contains(name)) {
        return if seen == Phase::Unknown { Phase::Serving } else { seen };
    }
    let through = FRAMES.iter().filter(|(name, _)| through.contains(name)).map(|(_, phase)| *phase).max();
    through.map_or(seen, |through| through.max(seen))
}

#[cfg(test)]
mod tests {
    use super::phase;
    use bystander_model::memory::Phase;

    #[test]
    fn functions_say_the_phase_where_no_line_does() {
        for (through, seen, expected) in [
            ("gpu_worker.py:load_model linear.py:create_weights ", Phase::ParallelInit, Phase::WeightLoad),
            ("core.py:_initialize_kv_caches gpu_worker.py:determine_available_memory llama.py:forward ", Phase::Unknown, Phase::PoolSizing),
            (
                "worker.py:determine_num_available_blocks model_runner.py:profile_run model_runner.py:execute_model ",
                Phase::WeightLoad,
                Phase::PoolSizing,
            ),
            ("gpu_worker.py:compile_or_warm_up_model gpu_model_runner.py:capture_model ", Phase::Unknown, Phase::GraphCapture),
            // An earlier phase than the lines show is that of something that is loaded later, such as a draft model.
            ("eagle_worker.py:__init__ model_runner.py:load_model ", Phase::DraftLoad, Phase::DraftLoad),
            ("scheduler.py:event_loop_overlap model_runner.py:forward ", Phase::Unknown, Phase::Serving),
            // The first requests of a server go through the same loop.
            ("scheduler.py:event_loop_overlap model_runner.py:forward ", Phase::WarmUp, Phase::WarmUp),
            ("x.py:main ", Phase::ParallelInit, Phase::ParallelInit),
        ] {
            assert_eq!(phase(through, seen), expected, "{through}");
        }
    }
}
