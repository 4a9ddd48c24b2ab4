//! The engine's own advice against its own numbers.

use bystander_model::memory::{CauseClass, Certainty, TermName};

use crate::told::{class, same, server, term};

fn served(account: &str) -> String {
    format!(
        "(EngineCore pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.29.0) with config: model='x'\n(EngineCore pid=7) INFO 11-29 13:20:16 [m.py:1] Model loading took 80.0 GiB memory and 9.0 seconds\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Estimated CUDA graph memory: 0.64 GiB total\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] Available KV cache memory: 8.28 GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] CUDA graph pool memory: 0.19 GiB (actual), 0.64 GiB (estimated), difference: 0.45 GiB (244.2%).\n{account}(APIServer pid=1) INFO:     Application startup complete.\n"
    )
}

const ACCOUNT: &str = "(EngineCore pid=7) INFO 11-29 13:20:17 [g.py:9] Free memory on device (93.83/95.01 GiB) on startup. Desired GPU memory utilization is (0.975, 92.63 GiB). Actual usage is 82.69 GiB for consumed memory (weights + non-torch), 1.66 GiB for peak activation, and 0.19 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory-bytes=BYTES` (7.95 GiB) to fit into requested memory, or `--kv-cache-memory-bytes=9820551680` (9.15 GiB) to fully utilize gpu memory. Current kv cache memory in use is 8.28 GiB.\n";

fn account(gib: f64) -> String {
    ACCOUNT.replace("BYTES", &format!("{:.0}", gib * 1_073_741_824.0))
}

#[test]
fn activations_that_include_graphs_are_taken_apart() {
    let found = server(&served(&account(8_538_253_005.0 / 1_073_741_824.0)));
    assert_eq!(class(&found), CauseClass::Healthy);
    let rank = &found.ranks[0];
    same(term(rank, TermName::Activations), 1.66 - 0.64, 2);
    same(term(rank, TermName::Graphs), 0.19, 2);
    same(term(rank, TermName::Headroom), 93.83 - 92.635 + 0.64 - 0.19, 2);
    assert!(rank.unexplained_gib.is_some_and(|rest| rest.value.abs() < 0.02), "{rank:#?}");
    assert_eq!(
        found.formula.as_ref().map(|formula| formula.text.as_str()),
        Some("KV = 0.975 \u{d7} 95.01 \u{2212} 82.69 \u{2212} 1.66 = 8.28 GiB")
    );
    assert!(found.contradictions.iter().any(|text| text.contains("0.45 GiB of the share stay unused")), "{:?}", found.contradictions);
    // What the engine suggests subtracts the 0.64 GiB of the estimate and the 0.19 GiB captured.
    assert!(
        found.contradictions.iter().any(|text| text.contains("7.95 GiB subtracts CUDA graphs twice") && text.contains("8.58 GiB fit")),
        "{:?}",
        found.contradictions
    );
}

#[test]
fn a_suggestion_that_is_of_no_use_is_the_cause() {
    let negative = ACCOUNT
        .replace("82.69 GiB", "60.00 GiB")
        .replace("1.66 GiB for peak", "24.35 GiB for peak")
        .replace("0.19 GiB for CUDAGraph", "22.90 GiB for CUDAGraph")
        .replace("BYTES", &format!("{:.0}", (8.285 - 22.9 - 150.0 / 1024.0) * 1_073_741_824.0));
    let bare = server(&negative);
    assert_eq!(class(&bare), CauseClass::EngineAdviceMisleading);
    assert!(bare.cause.as_ref().is_some_and(|cause| cause.text.contains("\u{2212}14.76 GiB")), "{:?}", bare.cause);
    let shown = server(&served(&negative).replace("0.64 GiB", "22.90 GiB"));
    assert_eq!(
        (class(&shown), shown.cause.as_ref().map(|cause| cause.certainty)),
        (CauseClass::EngineAdviceMisleading, Some(Certainty::Shown))
    );
}

#[test]
fn a_suggestion_that_keeps_150_mib_back_is_sound() {
    // The second runner estimates no graphs: they come on top, and are rightly subtracted.
    let runner = "(EngineCore pid=7) INFO 11-29 13:20:15 [g.py:1] Using V2 Model Runner\n";
    let log = served(&account(8.285 - 0.19 - 150.0 / 1024.0));
    let lines: String = log.lines().filter(|line| !line.contains("CUDA graph")).map(|line| format!("{line}\n")).collect();
    let found = server(&format!("{runner}{lines}"));
    assert_eq!(class(&found), CauseClass::Healthy);
    assert!(found.contradictions.is_empty(), "{:?}", found.contradictions);
    let rank = &found.ranks[0];
    same(term(rank, TermName::Activations), 1.66, 2);
    same(term(rank, TermName::Headroom), 93.83 - 92.635 - 0.19, 2);
    assert!(rank.unexplained_gib.is_some_and(|rest| rest.value.abs() < 0.02), "{rank:#?}");
}

#[test]
fn an_estimate_that_is_not_used_is_outside_of_the_share() {
    let log = "(EngineCore_DP0 pid=387) INFO 03-08 16:44:28 [core.py:1] Initializing a V1 LLM engine (v0.17.1) with config: model='x'\n(EngineCore_DP0 pid=387) INFO 03-08 16:44:28 [gpu_model_runner.py:5651] Estimated CUDA graph memory: 0.26 GiB total\n(EngineCore_DP0 pid=387) INFO 03-08 16:44:29 [gpu_worker.py:456] Available KV cache memory: 17.36 GiB\n(EngineCore_DP0 pid=387) INFO 03-08 16:44:29 [gpu_worker.py:490] In v0.19, CUDA graph memory profiling will be enabled by default (VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1), which more accurately accounts for CUDA graph memory during KV cache allocation. To try it now, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=1 and increase --gpu-memory-utilization from 0.7000 to 0.7021 to maintain the same effective KV cache size.\n";
    let found = server(log);
    assert!(found.ranks[0].terms.iter().all(|term| term.name != TermName::Graphs), "{:#?}", found.ranks);
}

#[test]
fn a_share_that_its_own_check_refuses_is_contradicted() {
    let equal = "(EngineCore pid=7) INFO 11-29 13:20:16 [g.py:1] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9750 is equivalent to --gpu-memory-utilization=0.9683 without CUDA graph memory profiling. To maintain the same effective KV cache size as before, increase --gpu-memory-utilization to 0.9891. To disable, set VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0.\n";
    let found = server(&served(&format!("{equal}{}", account(7.95))));
    assert!(found.contradictions.iter().any(|text| text.contains("0.9891") && text.contains("0.9875")), "{:?}", found.contradictions);
}

#[test]
fn a_pool_of_no_use_is_not_called_ready() {
    let log = served("").replace("Available KV cache memory: 8.28 GiB\n", "Available KV cache memory: 8.28 GiB\n(EngineCore pid=7) INFO 11-29 13:20:16 [k.py:1] GPU KV cache size: 1,600 tokens, Maximum concurrency for 8,192 tokens per request: 0.20x\n");
    let found = server(&log);
    assert_eq!((found.state, class(&found)), (bystander_model::memory::State::Starved, CauseClass::KvBelowContext));
}

#[test]
fn a_size_that_is_wanted_has_its_share() {
    use bystander_memory::explain::{Asked, Explainer, document};
    let told = |log: &str, asked: Asked| {
        let mut explainer = Explainer::new("server.log");
        explainer.block(log.as_bytes());
        document(vec![explainer.finish()], Vec::new(), &asked).servers.remove(0)
    };
    let log = include_str!("../fixtures/vllm-0.32.0-simulated-llama8b-eager.log");
    let less = told(log, Asked { want_gib: Some(40.0), card_gib: None });
    let advice = &less.advice[0];
    same(advice.break_even.expect("a share").value, 0.92 - 18.28 / 80.0, 4);
    assert_eq!((advice.recommended, advice.direction), (Some(0.7), bystander_model::memory::Direction::Down));
    let much = told(log, Asked { want_gib: Some(70.0), card_gib: None });
    assert_eq!((much.advice[0].recommended, much.advice[0].direction), (None, bystander_model::memory::Direction::None));
    // A log of 0.11 does not say how large the card is.
    let old = "(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {'gpu_memory_utilization': 0.5}\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: 4.00 GiB\n(APIServer pid=1) INFO:     Application startup complete.\n";
    assert!(told(old, Asked { want_gib: Some(6.0), card_gib: None }).advice.is_empty());
    let card = told(old, Asked { want_gib: Some(6.0), card_gib: Some(24.0) });
    same(card.advice[0].break_even.expect("a share").value, 0.5 + 2.0 / 24.0, 4);
}
