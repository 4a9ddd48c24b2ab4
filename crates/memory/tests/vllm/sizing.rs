//! Nothing is left for the KV cache: by what the share covers in each generation.

use bystander_model::memory::{CauseClass, Certainty, Direction, TermName};

use crate::told::{class, same, server, share, term, text};

const NO_BLOCKS: &str =
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n";

#[test]
fn up_to_06_a_neighbour_counts_in_the_share() {
    let found = server(&format!(
        "INFO 11-20 10:00:00 worker.py:232] Memory profiling results: total_gpu_memory=79.15GiB initial_memory_usage=68.01GiB peak_torch_memory=5.58GiB memory_usage_post_profile=68.05GiB non_torch_memory=64.20GiB kv_cache_size=-53.95GiB gpu_memory_utilization=0.20\n{NO_BLOCKS}"
    ));
    assert_eq!(class(&found), CauseClass::OtherProcessHoldsMemory);
    let advice = share(&found, Direction::Up);
    same(advice.break_even.expect("a share").value, (5.58 + 64.2) / 79.15, 3);
    assert_eq!(advice.recommended, Some(0.94));
    assert!(
        text(&found).contains("68.01 GiB of it were in use before the profile run, and 64.20 GiB are held by others"),
        "{}",
        text(&found)
    );
    same(term(&found.ranks[0], TermName::OtherProcess), 64.2, 2);
    assert!(found.ranks[0].unexplained_gib.is_some_and(|rest| rest.low <= 0.01 && rest.high >= -0.01));
    same(found.formula.expect("a formula").rest_gib.value, -53.95, 2);
}

#[test]
fn bytes_printed_by_hand_give_exact_blocks() {
    let lines = "free_gpu_memory: 16070606848 total_gpu_memory: 23609475072\npeak_memory: 7538868224\ncache_block_size: 360448\nnum_gpu_blocks: -7816\n";
    let found = server(&format!(
        "INFO 04-21 10:00:00 llm_engine.py:98] Initializing an LLM engine (v0.4.1) with config: model='x'\npython -m vllm.entrypoints.openai.api_server --gpu-memory-utilization 0.2\n{lines}{NO_BLOCKS}"
    ));
    assert_eq!(class(&found), CauseClass::OtherProcessHoldsMemory);
    let formula = found.formula.as_ref().expect("a formula");
    let blocks = |gib: f64| (gib * 1_073_741_824.0 / 360_448.0).floor();
    assert_eq!(blocks(formula.rest_gib.value), -7816.0);
    assert_eq!(formula.cell_bytes, Some(22_528.0));
    let advice = share(&found, Direction::Up);
    same(advice.break_even.expect("a share").value, 0.3193, 4);
    assert!(text(&found).contains("7.02 GiB are used by all together"), "{}", text(&found));
    // Without the error, and without the share, the numbers still say that all of the card counts.
    let bare = server(lines);
    assert_eq!(class(&bare), CauseClass::OtherProcessHoldsMemory);
    same(share(&bare, Direction::Up).break_even.expect("a share").value, 0.3193, 4);
    // The first instance, alone on the card.
    let first = lines.replace("16070606848", "20509491200").replace("7538868224", "3099983872").replace("-7816", "4499");
    let alone = server(&format!(
        "INFO 04-21 10:00:00 llm_engine.py:98] Initializing an LLM engine (v0.4.1) with config: model='x'\npython -m vllm.entrypoints.openai.api_server --gpu-memory-utilization 0.2\n{first}"
    ));
    assert_eq!(blocks(alone.formula.expect("a formula").rest_gib.value), 4499.0);
}

#[test]
fn a_card_in_use_is_more_than_the_share_in_08() {
    let found = server(&format!(
        "4910MiB / 46068MiB\nINFO 04-05 10:00:00 [core.py:59] Initializing a V1 LLM engine (v0.8.2) with config: model='x'\nINFO 04-05 10:00:00 [api_server.py:1] args: Namespace(gpu_memory_utilization=0.1)\nINFO:     Application startup complete.\nERROR 04-05 01:12:55 [core.py:390] {NO_BLOCKS}"
    ));
    assert_eq!(class(&found), CauseClass::OtherProcessHoldsMemory);
    let advice = share(&found, Direction::Up);
    same(advice.break_even.expect("a share").value, 4910.0 / 46_068.0, 4);
    assert!(text(&found).contains("0.8.2") && text(&found).contains("4.79 GiB"), "{}", text(&found));
    let bare = server(&format!("4910MiB / 46068MiB\nApplication startup complete.\n{NO_BLOCKS}"));
    assert_eq!(class(&bare), CauseClass::OtherProcessHoldsMemory);
    same(share(&bare, Direction::Up).break_even.expect("a share").value, 4910.0 / 46_068.0, 4);
}

#[test]
fn old_generations_without_numbers_are_only_possible() {
    let stated = server(&format!(
        "INFO 11-25 10:00:00 llm_engine.py:237] Initializing an LLM engine (v0.6.4.post1) with config: model='x'\n{NO_BLOCKS}"
    ));
    assert_eq!(class(&stated), CauseClass::OtherProcessHoldsMemory);
    share(&stated, Direction::Up);
    let second = server(&format!(
        "INFO 04-29 10:00:00 [monitor.py:33] torch.compile takes 13.93 s in total\nERROR 04-29 10:00:01 [core.py:396] EngineCore failed to start.\nERROR 04-29 10:00:01 [core.py:396] {NO_BLOCKS}"
    ));
    assert_eq!(
        (class(&second), second.cause.as_ref().map(|cause| cause.certainty)),
        (CauseClass::OtherProcessHoldsMemory, Some(Certainty::Possible))
    );
    assert_eq!(second.cause.as_ref().expect("a cause").evidence, ["server.log:3"]);
}

#[test]
fn from_09_the_share_is_below_the_weights_and_goes_up() {
    let found = server(&format!(
        "(EngineCore_DP0 pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='x'\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {{'model': 'x', 'gpu_memory_utilization': 0.55}}\n(EngineCore_DP0 pid=7) DEBUG 11-29 13:20:15 [g.py:1] worker init memory snapshot: torch_peak=0.0GiB, free_memory=23.1GiB, total_memory=23.58GiB\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:16 [g.py:1] Model loading took 14.9889 GiB and 2.0 seconds\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: -3.12 GiB\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] {NO_BLOCKS}"
    ));
    assert_eq!(
        (class(&found), found.cause.as_ref().map(|cause| cause.certainty)),
        (CauseClass::FractionBelowWeights, Some(Certainty::Shown))
    );
    let advice = share(&found, Direction::Up);
    same(advice.break_even.expect("a share").value, 0.55 + 3.12 / 23.58, 4);
    assert_eq!(advice.recommended, Some(0.71));
    let even = advice.break_even.expect("a share");
    assert!(even.low < even.value && even.value < even.high);
    same(advice.gives.as_ref().and_then(|gives| gives.headroom_gib).expect("what it leaves").value, 23.1 - 0.71 * 23.58, 2);
    assert!(text(&found).contains("3.12 GiB more than a share of 0.55"), "{}", text(&found));
}

#[test]
fn where_no_share_works_it_says_so() {
    let found = server(&format!(
        "(EngineCore_DP0 pid=7) INFO 11-29 13:20:15 [core.py:1] Initializing a V1 LLM engine (v0.11.0) with config: model='x'\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {{'model': 'x', 'gpu_memory_utilization': 0.95}}\n(EngineCore_DP0 pid=7) DEBUG 11-29 13:20:15 [g.py:1] worker init memory snapshot: torch_peak=0.0GiB, free_memory=22.9GiB, total_memory=23.58GiB\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: -1.50 GiB\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] {NO_BLOCKS}"
    ));
    let advice = share(&found, Direction::None);
    assert!(advice.text.starts_with("No share works") && advice.recommended.is_none(), "{}", advice.text);
    assert!(found.contradictions.iter().any(|text| text.contains("advises to increase")), "{:?}", found.contradictions);
}

#[test]
fn without_the_size_of_the_card_no_share_is_computed() {
    let found = server(&format!(
        "(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: -3.12 GiB\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] {NO_BLOCKS}"
    ));
    let advice = share(&found, Direction::Up);
    assert_eq!((advice.break_even, advice.recommended), (None, None));
    assert!(advice.text.contains("3.12 GiB"));
    let formula = found.formula.expect("what is printed");
    assert!(formula.text.starts_with("KV = \u{2212}3.12 GiB (share") && formula.tokens.is_none(), "{formula:#?}");
}

#[test]
fn a_share_that_was_replaced_is_the_cause() {
    let found = server(&format!(
        "$ vllm serve x --gpu-memory-utilization 0.9\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] vLLM API server version 0.11.0\n(APIServer pid=1) INFO 11-29 13:20:15 [u.py:1] non-default args: {{'model': 'x', 'gpu_memory_utilization': 0.2}}\n(EngineCore_DP0 pid=7) INFO 11-29 13:20:17 [g.py:1] Available KV cache memory: -3.12 GiB\n(EngineCore_DP0 pid=7) ERROR 11-29 13:20:17 [c.py:1] {NO_BLOCKS}"
    ));
    assert_eq!(class(&found), CauseClass::EffectiveConfigDiffers);
    assert!(text(&found).contains("0.9 was asked for, but the share in effect is 0.2"), "{}", text(&found));
}

#[test]
fn more_requests_than_states_are_set_to_what_there_is() {
    for (requests, blocks) in [(1024, 969), (1024, 614), (256, 161)] {
        let found = server(&format!(
            "(EngineCore pid=7) ERROR 11-29 13:20:17 [c.py:1] ValueError: max_num_seqs ({requests}) exceeds available Mamba cache blocks ({blocks}). Please lower max_num_seqs.\n"
        ));
        assert_eq!(class(&found), CauseClass::HybridStateCache);
        assert_eq!(
            (found.advice[0].knob.as_str(), found.advice[0].direction, found.advice[0].recommended),
            ("max_num_seqs", Direction::Down, Some(f64::from(blocks)))
        );
    }
}
