//! Bad input: cut, doubled, in another alphabet, without end.

use bystander_memory::explain::{Explainer, judge};
use proptest::prelude::*;

use crate::told::{servers, told_of};

#[test]
fn a_log_cut_anywhere_gives_no_wrong_number() {
    let log = include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log");
    for end in (0..log.len()).step_by(97).filter(|end| log.is_char_boundary(*end)) {
        for server in servers(&log[..end]) {
            let tokens = server.formula.as_ref().and_then(|formula| formula.tokens).map(|tokens| tokens.value);
            assert!(tokens.is_none_or(|tokens| tokens == 477_456.0), "cut at {end}: {tokens:?}");
            for rank in &server.ranks {
                assert!(rank.terms.iter().all(|term| term.gib.value < 80.01), "cut at {end}: {rank:#?}");
            }
        }
    }
}

#[test]
fn no_log_is_no_server() {
    assert!(servers("").is_empty());
    assert!(servers("hello\nworld\n").is_empty());
    assert!(servers("Application startup complete.\n").is_empty());
}

#[test]
fn a_log_without_end_is_bounded() {
    let line = "(Worker_TP0 pid=1) ERROR 11-29 13:20:17 [c.py:1] ValueError: something else\n(Worker_TP0 pid=1) INFO 11-29 13:20:17 [g.py:1] Model loading took 14.96 GiB memory and 2.0 seconds\n";
    let mut explainer = Explainer::new("x");
    for _ in 0..400 {
        explainer.block(line.as_bytes());
    }
    let read = explainer.finish();
    assert_eq!(read.lines, 800);
    assert!(read.servers.iter().all(|facts| facts.failures.len() <= 32 && facts.ranks.iter().all(|rank| rank.amounts.len() <= 96)));
    assert_eq!(read.servers.iter().map(judge).count(), 1);
}

#[test]
fn many_processes_are_bounded() {
    let log: String = (0..1200).map(|pid| format!("(Worker pid={pid}) ERROR 11-29 13:20:17 [c.py:1] Traceback (most recent call last):\n(Worker pid={pid}) INFO 11-29 13:20:17 [g.py:1] Model loading took 1.00 GiB memory and 2.0 seconds\n")).collect();
    assert!(servers(&log).iter().all(|server| server.ranks.len() <= 1024));
}

/// Pieces of lines that readers look for, put together anyhow.
fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("Model loading took ".to_owned()),
        Just("Available KV cache memory: ".to_owned()),
        Just("GPU KV cache size: ".to_owned()),
        Just("Maximum concurrency for ".to_owned()),
        Just(" tokens per request: ".to_owned()),
        Just("Free memory on device (".to_owned()),
        Just(" GiB) on startup. Desired GPU memory utilization is (".to_owned()),
        Just("on startup is less than desired GPU memory utilization (".to_owned()),
        Just("CUDA out of memory. Tried to allocate ".to_owned()),
        Just("max seq len (".to_owned()),
        Just(" GiB for consumed memory (weights + non-torch), ".to_owned()),
        Just(" GiB for peak activation, ".to_owned()),
        Just("--kv-cache-memory=".to_owned()),
        Just("Memory profiling results: total_gpu_memory=".to_owned()),
        Just("total_gpu_memory (".to_owned()),
        Just("cache_block_size: ".to_owned()),
        Just("# GPU blocks: ".to_owned()),
        Just("non-default args: {'gpu_memory_utilization': ".to_owned()),
        Just("vllm serve --gpu-memory-utilization ".to_owned()),
        Just("Initializing a V1 LLM engine (v".to_owned()),
        Just("ValueError: No available memory for the cache blocks".to_owned()),
        Just("VLLM_PP_LAYER_PARTITION=".to_owned()),
        Just("To serve at least one request ".to_owned()),
        Just("VLLM::EngineCor ".to_owned()),
        Just("MiB / ".to_owned()),
        Just("GPU 0; ".to_owned()),
        "-?[0-9]{0,6}[.,]?[0-9]{0,4}( GiB| MiB|x|,)?",
        "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lines_of_any_kind_break_nothing(lines in prop::collection::vec(line(), 1..12)) {
        for server in servers(&lines.join("\n")) {
            prop_assert!(told_of(&server).iter().all(|figure| figure.is_finite()), "{server:#?}");
        }
    }

    #[test]
    fn bytes_of_any_kind_break_nothing(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
        let mut explainer = Explainer::new("x");
        let (a, b) = bytes.split_at(cut.min(bytes.len()));
        explainer.block(a);
        explainer.block(b);
        let _ = explainer.finish().servers.iter().map(judge).count();
    }
}
