//! CUDA out of memory: the phase says which way to turn, the numbers whose it was.

use bystander_model::memory::{CauseClass, Direction, Phase, TermName};

use crate::told::{class, same, server, share, text};

fn oom(wanted: &str, total: &str, free: &str) -> String {
    format!(
        "(EngineCore pid=7) ERROR 11-29 13:20:17 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}. GPU 0 has a total capacity of {total} of which {free} is free. See documentation for Memory Management\n"
    )
}

#[test]
fn after_the_pool_the_share_goes_down_by_what_was_missing() {
    let log = format!(
        "(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.29.1rc1) with config: model='x'\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {{'gpu_memory_utilization': 0.98}}\n(EngineCore pid=7) INFO 11-29 13:20:15 [g.py:1] Available KV cache memory: 2.97 GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 150,745 tokens, Maximum concurrency for 65,536 tokens per request: 2.30x\n{}",
        oom("136.00 MiB", "22.36 GiB", "120.88 MiB")
    );
    let found = server(&log);
    assert_eq!((class(&found), found.phase), (CauseClass::GraphCaptureHeadroom, Phase::GraphCapture));
    assert!(text(&found).contains("short by 15 MiB") && text(&found).contains("leaves 0.45 GiB"), "{}", text(&found));
    let advice = share(&found, Direction::Down);
    assert_eq!(advice.recommended, Some(0.97));
    assert!(advice.text.contains("0.22 GiB less of KV cache"), "{}", advice.text);
    assert!(advice.gives.as_ref().is_some_and(|gives| gives.tokens.is_none()), "a hybrid's tokens do not follow from bytes");
    assert!(found.formula.as_ref().is_none_or(|formula| formula.cell_bytes.is_none()));
}

#[test]
fn in_the_first_engine_graphs_come_on_top_of_the_share() {
    let log = "INFO 12-17 10:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.5) with config: model='x', max_seq_len=40000, tensor_parallel_size=1\nINFO 12-17 10:00:00 worker.py:241] the current vLLM instance can use total_gpu_memory (15.77GiB) x gpu_memory_utilization (0.95) = 14.98GiB\nINFO 12-17 10:00:00 worker.py:241] model weights take 7.51GiB; non_torch_memory takes 0.39GiB; PyTorch activation peak memory takes 2.53GiB; the rest of the memory reserved for KV Cache is 4.55GiB.\nINFO 12-17 10:00:00 gpu_executor.py:80] Maximum concurrency for 40000 tokens per request: 1.86x\n";
    let cut = server(log);
    assert_eq!(class(&cut), CauseClass::GraphCaptureHeadroom);
    assert!(text(&cut).contains("a share of 0.95 leaves 0.79 GiB"), "{}", text(&cut));
    let advice = share(&cut, Direction::Down);
    assert_eq!(advice.recommended, Some(0.9));
    assert!(advice.text.contains("0.9 leaves 1.58 GiB"), "{}", advice.text);
    let at = server(&log.replace("(0.95) = 14.98", "(0.90) = 14.19").replace("4.55", "3.76"));
    same(at.formula.expect("a formula").rest_gib.value, 3.76, 2);
    let failed = server(&format!("{log}{}", oom("512.00 MiB", "15.77 GiB", "300.00 MiB")));
    assert_eq!(class(&failed), CauseClass::GraphCaptureHeadroom);
}

#[test]
fn another_start_of_44_gib_is_solved_the_same_way() {
    let found = server(
        "INFO 12-17 10:00:00 worker.py:241] the current vLLM instance can use total_gpu_memory (44.53GiB) x gpu_memory_utilization (0.98) = 43.64GiB\nINFO 12-17 10:00:00 worker.py:241] model weights take 18.00GiB; non_torch_memory takes 0.44GiB; PyTorch activation peak memory takes 4.00GiB; the rest of the memory reserved for KV Cache is 21.20GiB.\nINFO 12-17 10:00:00 executor_base.py:113] # cuda blocks: 7236, # CPU blocks: 0\nINFO 12-17 10:00:00 model_runner.py:1385] Capturing cudagraphs for decoding.\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 44.53 GiB of which 500.00 MiB is free.\n",
    );
    same(found.formula.as_ref().expect("a formula").rest_gib.value, 21.2, 2);
    assert_eq!(class(&found), CauseClass::GraphCaptureHeadroom);
    share(&found, Direction::Down);
}

#[test]
fn the_difference_of_two_cards_is_what_graphs_take() {
    let found = server("23859MiB / 24564MiB\n21395MiB / 24564MiB (with --enforce-eager)\n");
    assert_eq!(class(&found), CauseClass::GraphCaptureHeadroom);
    assert!(text(&found).contains("2,464 MiB") && text(&found).contains("22,108 of 24,564 MiB"), "{}", text(&found));
}

#[test]
fn weights_that_do_not_fit_are_not_bounded_by_the_share() {
    let config = "INFO 01-29 10:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.6) with config: model='x', tensor_parallel_size=8, pipeline_parallel_size=4\n";
    let found = server(&format!(
        "{config}(VllmWorkerProcess pid=7) INFO 01-29 10:00:00 model_runner.py:1] Loading model weights took 16.9583 GB\n(VllmWorkerProcess pid=8) INFO 01-29 10:00:00 model_runner.py:1] Loading model weights took 16.9687 GB\n(RayWorkerWrapper pid=9) torch.OutOfMemoryError\n"
    ));
    assert_eq!(class(&found), CauseClass::FractionBelowWeights);
    share(&found, Direction::None);
    assert!(text(&found).contains("16.96 to 16.97 GiB") && text(&found).contains("stages hold different layers"), "{}", text(&found));
    let bare = server("INFO 01-29 10:00:00 model_runner.py:1] Loading model weights took 16.9583 GB\ntorch.OutOfMemoryError\n");
    assert_eq!(class(&bare), CauseClass::FractionBelowWeights);
}

#[test]
fn others_on_the_card_are_told_from_ranks_that_share_it() {
    let message = "(Worker_TP1 pid=7) ERROR 11-29 13:20:17 [m.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 94.97 GiB of which 164.81 MiB is free. Including non-PyTorch memory, this process has 3.18 GiB memory in use.\n";
    let ranks = server(&format!(
        "(EngineCore pid=3) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: model='x', tensor_parallel_size=4\n(Worker_TP1 pid=7) INFO 11-29 13:20:16 [m.py:1] Starting to load model x...\n{message}"
    ));
    assert_eq!(class(&ranks), CauseClass::WrongDevice);
    assert!(text(&ranks).contains("91.63 GiB are held by others"), "{}", text(&ranks));
    let one = server(&format!(
        "(EngineCore pid=3) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: model='x', tensor_parallel_size=1\n{message}"
    ));
    assert_eq!((class(&one), one.advice[0].direction), (CauseClass::OtherProcessHoldsMemory, Direction::None));
}

#[test]
fn memory_that_is_free_and_refused_is_the_platforms() {
    let found = server(&format!(
        "(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.20.0) with config: model='x'\n(EngineCore pid=7) INFO 11-29 13:20:15 [m.py:1] Starting to load model x...\n{}",
        oom("18.00 GiB", "95.59 GiB", "50.12 GiB")
    ));
    assert_eq!(class(&found), CauseClass::PlatformMisreports);
}

#[test]
fn while_it_serves_activations_are_the_cause() {
    let log = include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log");
    let found = server(&format!("{log}{}", oom("2.00 GiB", "80.00 GiB", "1.50 GiB")));
    assert_eq!((class(&found), found.phase), (CauseClass::RuntimeActivation, Phase::Serving));
    let advice = share(&found, Direction::Down);
    assert_eq!(advice.recommended, Some(0.91));
    assert!(
        advice.gives.as_ref().and_then(|gives| gives.tokens).is_some_and(|tokens| tokens.low > 470_000.0 && tokens.high < 477_456.0),
        "{advice:#?}"
    );
}

#[test]
fn buffers_of_nccl_are_told_from_graphs() {
    let start = "(EngineCore pid=3) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.28.0) with config: model='x', tensor_parallel_size=8\n(Worker_TP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: 19.0 GiB\n(EngineCore pid=3) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 500,000 tokens\n";
    let found = server(&format!(
        "{start}host:7:7 [0] include/alloc.h:222 NCCL WARN Cuda failure 2 'out of memory'\nhost:7:7 [0] include/alloc.h:228 NCCL WARN Failed to CUDA calloc 10485760 bytes\n(Worker_TP0 pid=7) ERROR 11-29 13:20:17 [m.py:1] RuntimeError: NCCL error: unhandled cuda error\n"
    ));
    assert_eq!(class(&found), CauseClass::HeadroomOutsideStatic);
    assert!(text(&found).contains("buffers of NCCL") && text(&found).contains("10 MiB were asked for"), "{}", text(&found));
    share(&found, Direction::Down);
}

#[test]
fn a_process_above_its_share_says_by_how_much() {
    let found = server(
        "(EngineCore pid=3) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.28.0) with config: model='x', tensor_parallel_size=8\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {'gpu_memory_utilization': 0.95, 'tensor_parallel_size': 8}\n(Worker_TP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Model loading took 9.98 GiB memory and 9.0 seconds\n(Worker_TP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: 19.0 GiB\n(EngineCore pid=3) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 500,000 tokens\n(Worker_TP0 pid=7) INFO 11-29 13:20:17 [m.py:1] Graph capturing finished in 1 secs, took 0.46 GiB\n(Worker_TP0 pid=7) ERROR 11-29 13:20:17 [m.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 392.00 MiB. GPU 0 has a total capacity of 31.38 GiB of which 200.00 MiB is free. Including non-PyTorch memory, this process has 31.18 GiB memory in use. Of the allocated memory 29.10 GiB is allocated by PyTorch, with 62.00 MiB allocated in private pools (e.g., CUDA Graphs), and 120.00 MiB is reserved by PyTorch but unallocated.\n",
    );
    assert_eq!(class(&found), CauseClass::GraphCaptureHeadroom);
    assert!(text(&found).contains("holds 31.18 GiB, 1.37 GiB above its share of 29.81 GiB, graphs hold 62 MiB of it"), "{}", text(&found));
}

#[test]
fn lines_that_were_cut_when_pasted_are_read() {
    let found = server(&format!(
        "INFO  [gpu_worker.py:642]  Available KV cache memory: 2.97 GiB\nINFO  [kv_cache_utils.py]  GPU KV cache size: 150,745 tokens, Maximum concurrency for 124,000 tokens\nINFO  [model_runner.py]    Graph capturing finished in 1 secs, took 0.46 GiB\n{}",
        oom("136.00 MiB", "22.36 GiB", "120.88 MiB")
    ));
    assert_eq!((class(&found), found.phase), (CauseClass::GraphCaptureHeadroom, Phase::GraphCapture));
    let advice = share(&found, Direction::Down);
    assert!(advice.recommended.is_none() && advice.text.contains("15 MiB were missing, 0.0007 of the card"), "{advice:#?}");
}

#[test]
fn an_allocation_without_its_type_is_read() {
    let found = server(
        "Available KV cache memory: 2.97 GiB\nGPU KV cache size: 150,745 tokens\nTried to allocate 136.00 MiB. GPU 0 has a total capacity of 22.36 GiB of which 120.88 MiB is free\n",
    );
    assert_eq!(class(&found), CauseClass::GraphCaptureHeadroom);
    // The size of the pool alone tells that it comes after it.
    let cut = server(
        "Available KV cache memory: 2.97 GiB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 22.36 GiB of which 120.88 MiB is free\n",
    );
    assert_eq!(class(&cut), CauseClass::GraphCaptureHeadroom);
}

#[test]
fn processes_in_a_list_are_left_over() {
    for list in [
        "VLLM::EngineCore\nVLLM::Worker_TP0\nVLLM::Worker_TP1\n",
        "root 4242 F...m VLLM::EngineCor\n4242 VLLM::EngineCor 1 114151137280\n",
        "4242, 22528 MiB, VLLM::Worker\n",
    ] {
        let found = server(list);
        assert_eq!(class(&found), CauseClass::LeakedPreviousRun, "{list}");
        assert_eq!(found.advice[0].direction, Direction::None);
    }
    assert!(text(&server("4242 VLLM::EngineCor 1 114151137280\n")).contains("106.31 GiB"));
}

#[test]
fn ranks_that_wait_are_no_proof() {
    let found = server(
        "(EngineCore pid=7) INFO 11-29 13:20:15 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging\n",
    );
    assert_eq!(class(&found), CauseClass::InterconnectP2p);
    assert_eq!(found.cause.as_ref().map(|cause| cause.certainty), Some(bystander_model::memory::Certainty::Possible));
}

/// A start whose lines do not say how large the card is.
fn without_a_card(release: &str, graphs: &str) -> String {
    format!(
        "(APIServer pid=1) INFO 11-29 13:20:15 [utils.py:233] non-default args: {{'model': 'x', 'gpu_memory_utilization': 0.86}}\n\
(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:77] Initializing a V1 LLM engine (v{release}) with config: model='x', tensor_parallel_size=1\n\
(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Model loading took 14.99 GiB memory and 2.123456 seconds\n\
{graphs}(EngineCore pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: 4.12 GiB\n\
(EngineCore pid=7) INFO 11-29 13:20:17 [k.py:1] GPU KV cache size: 33,744 tokens\n\
(EngineCore pid=7) INFO 11-29 13:20:19 [g.py:1] Graph capturing finished in 2 secs, took 0.57 GiB\n\
(APIServer pid=1) INFO:     Application startup complete.\n"
    )
}

#[test]
fn a_card_that_no_line_names_is_told_from_the_graphs_with_its_range() {
    let graphs = "(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Estimated CUDA graph memory: 1.11 GiB total\n\
(EngineCore pid=7) INFO 11-29 13:20:17 [g.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.8600 is equivalent to --gpu-memory-utilization=0.8130 without CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to 0.9070. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.\n";
    let found = server(&without_a_card("0.25.1", graphs));
    let rank = &found.ranks[0];
    let total = rank.terms.iter().find(|term| term.name == TermName::Total).expect("a total").gib;
    // 1.11 / (0.8600 − 0.8130), each to its last digit.
    assert!((total.value - 1.11 / 0.047).abs() < 1e-9 && total.low < 23.52 && total.high > 23.72 && total.high < 23.9, "{total:?}");
    let rest = rank.unexplained_gib.expect("a remainder");
    assert!(rest.low < rest.value && rest.value < rest.high, "{rest:?}");
}

#[test]
fn a_card_that_nothing_tells_has_a_least_size() {
    let found = server(&without_a_card("0.11.0", ""));
    assert!(found.ranks[0].unexplained_gib.is_none() && found.ranks[0].terms.iter().all(|term| term.name != TermName::Total));
    // (14.985 + 4.115) / 0.86
    assert!(found.not_modelled.iter().any(|line| line.contains("it has 22.21 GiB at least")), "{:?}", found.not_modelled);
}

#[test]
fn a_card_that_is_smaller_than_what_stands_on_it_counts_for_nothing() {
    let found = crate::told::asked(&without_a_card("0.11.0", ""), Some(16.0), Some(1.0));
    assert!(found.ranks[0].terms.iter().all(|term| term.name != TermName::Total), "{:#?}", found.ranks);
    assert!(found.contradictions.iter().any(|line| line.contains("A card of 16.00 GiB was asked for")), "{:?}", found.contradictions);
    assert!(found.advice.iter().all(|advice| advice.recommended.is_none_or(|share| share > 0.0)), "{:#?}", found.advice);
    let fits = crate::told::asked(&without_a_card("0.11.0", ""), Some(24.0), None);
    assert!(fits.contradictions.is_empty() && fits.ranks[0].unexplained_gib.is_some(), "{fits:#?}");
}
