//! Excerpts of real logs; those named `simulated` come from the engine's own code on a simulated GPU.

use bystander_model::budget::BudgetReport;

use crate::feed::{TRIAL, reader};

fn budget(log: &str) -> BudgetReport {
    reader(log).finish(TRIAL, None).budget.expect("a budget")
}

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("../fixtures/sglang-", $name, ".log"))
    };
}

#[test]
fn a_single_gpu_log_gives_the_tokens_within_its_rounding() {
    let budget = budget(log!("0.5.9-simulated-llama8b"));
    let tokens = budget.tokens.expect("told from the pool");
    assert_eq!(tokens, bystander_model::budget::Figure::exact(421_755.0), "as printed, where the formula explains it");
    assert_eq!(budget.equation, "rest = 64.52 − 79.50 × (1 − 0.836) = 51.48 GiB (±0.006)");
    assert_eq!(budget.cell_bytes, None, "a rounded size gives a range, not a number");
    assert!(budget.rest_gib.low < 51.482 && 51.482 < budget.rest_gib.high);
    assert!(!budget.text.iter().any(|line| line.contains("Contradiction")), "{:?}", budget.text);
    let places: Vec<&str> = budget.evidence.iter().map(|e| e.place.as_str()).collect();
    assert!(places.contains(&"stderr:5") && places.contains(&"stderr:1"), "{places:?}");
}

#[test]
fn the_bytes_per_token_lie_in_the_range_that_is_said() {
    // 32 layers, 8 KV heads, 128 + 128 elements of two bytes: 131,072 bytes on one GPU, half of that on each of two.
    for (log, cell) in [
        (log!("0.5.9-simulated-llama8b"), 131_072.0),
        (log!("0.5.9-simulated-llama8b-tp2"), 65_536.0),
        (log!("0.5.9-simulated-llama8b-tp2-24GiB"), 65_536.0),
    ] {
        let budget = budget(log);
        let gib = 1_073_741_824.0;
        let within = |tokens: f64| budget.rest_gib.low <= tokens * cell / gib && tokens * cell / gib <= budget.rest_gib.high;
        assert!(budget.tokens.is_some_and(|tokens| within(tokens.value)), "{:?}", budget.tokens);
        for other in &budget.alternatives {
            let (tokens, exact) = (other.tokens.expect("told"), (other.rest_gib.value * gib / cell).floor());
            let is_asked = (other.fraction - budget.fraction).abs() < 1e-9;
            assert!(is_asked || tokens.low <= exact && exact <= tokens.high, "{other:?}");
        }
    }
}

#[test]
fn two_ranks_give_the_minimum_and_say_the_version() {
    let budget = budget(log!("0.5.9-simulated-llama8b-tp2-24GiB"));
    let tokens = budget.tokens.expect("told");
    assert!(tokens.low <= 201_283.0 && 201_283.0 <= tokens.high, "{tokens:?}");
    assert_eq!(budget.rank, Some(0));
    assert_eq!((budget.version.low.as_deref(), budget.version.high.as_deref()), (Some("0.5.9"), Some("0.5.9")));
    assert!(!budget.text.iter().any(|line| line.contains("ranks")), "{:?}", budget.text);
}

#[test]
fn a_rank_that_did_not_print_is_said_to_be_missing() {
    let log: String = log!("0.5.9-simulated-llama8b-tp2")
        .lines()
        .filter(|line| !line.contains("TP1] Load weight end"))
        .map(|line| format!("{line}\n"))
        .collect();
    let text = budget(&log).text.join("\n");
    assert!(text.contains("Free memory after the weights was printed by 1 of 2 ranks; the minimum over all may be lower."), "{text}");
}

#[test]
fn the_rank_with_the_least_memory_counts() {
    let budget = budget(log!("0.5.9-cpu-tp2"));
    assert_eq!((budget.total_gib.value, budget.available_gib.value), (20.51, 20.51));
    assert_eq!(budget.rank, Some(1));
}

#[test]
fn a_capped_pool_is_said_to_be_capped_and_no_contradiction() {
    let budget = budget(log!("0.5.9-cpu-tp2"));
    let text = budget.text.join("\n");
    assert!(text.contains("max_total_tokens caps the pool at 4,096 tokens"), "{text}");
    assert!(!text.contains("Contradiction"), "{text}");
    assert!(budget.not_modelled.iter().any(|line| line.starts_with("On device cpu")), "{:?}", budget.not_modelled);
    assert_eq!(budget.tokens, None, "a pool of 0.00 GB tells no bytes per token");
}

#[test]
fn versions_are_told_from_the_lines() {
    for (log, low, high) in [
        (log!("0.5.5-cpu"), Some("0.5.4"), Some("0.5.8")),
        (log!("0.5.7-cpu"), Some("0.5.4"), Some("0.5.8")),
        (log!("0.5.8-cpu"), Some("0.5.4"), Some("0.5.8")),
        (log!("0.5.9-cpu-tp2"), Some("0.5.9"), Some("0.5.9")),
    ] {
        let version = budget(log).version;
        assert_eq!((version.low.as_deref(), version.high.as_deref()), (low, high), "{:?}", version.from);
    }
}

#[test]
fn a_release_up_to_the_newest_that_was_read_has_its_equation() {
    let log = log!("0.5.23-cpu-warm").replacen("server_args={", "server_args={'mem_fraction_static': 0.3, ", 1);
    let budget = budget(&log);
    assert_eq!(budget.version.low.as_deref(), Some("0.5.19"));
    assert!(budget.equation.starts_with("rest = 21.55"), "{}", budget.equation);
    assert_eq!(budget.not_modelled, Vec::<String>::new());
}

#[test]
fn lines_that_fit_no_release_leave_the_version_unknown() {
    let log = format!(
        "{}\n[2026-11-29 13:00:00] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 5, KV size: 1.00 GB",
        log!("0.5.9-simulated-llama8b")
    );
    let budget = budget(&log);
    assert_eq!((budget.version.low, budget.version.high), (None, None));
    assert!(budget.not_modelled.iter().any(|line| line.contains("fit no published release")));
}

#[test]
fn without_the_fraction_there_is_no_budget() {
    assert_eq!(reader(log!("0.5.9-cpu-ok")).finish(TRIAL, None).budget, None);
    assert_eq!(reader("").finish(TRIAL, None).budget, None);
}

#[test]
fn a_state_cache_keeps_tokens_from_being_derived() {
    let log = format!(
        "{}\n[2026-11-29 13:00:00] Mamba Cache is allocated. max_mamba_cache_size: 9, conv_state size: 1.00GB",
        log!("0.5.9-simulated-llama8b")
    );
    let budget = budget(&log);
    assert_eq!(budget.tokens, None);
    assert!(budget.not_modelled.iter().any(|line| line.contains("State caches")));
}

#[test]
fn a_pool_that_does_not_fit_the_formula_is_a_contradiction() {
    let log = log!("0.5.9-simulated-llama8b")
        .replace("#tokens: 421755, K size: 25.74 GB, V size: 25.74 GB", "#tokens: 300000, K size: 18.31 GB, V size: 18.31 GB");
    let text = budget(&log).text.join("\n");
    assert!(text.contains("Contradiction: the pool has 300,000 tokens, the formula gives about 421,"), "{text}");
}

/// A start of 0.5.16: the draft model is loaded before the pools are sized, and each token has a part in the draft's pool.
fn drafted(fraction: f64) -> String {
    format!(
        "[2026-11-29 13:00:00] server_args=ServerArgs(model_path='m', tp_size=1, mem_fraction_static={fraction}, page_size=1, device='cuda', speculative_algorithm='EAGLE', max_total_tokens=None, cuda_graph_config=None)\n\
[2026-11-29 13:00:01] Load weight begin. avail mem=78.50 GB\n\
[2026-11-29 13:00:02] Load weight end. elapsed=1.00 s, type=LlamaForCausalLM, quant=none, avail mem=62.00 GB, mem usage=16.50 GB.\n\
[2026-11-29 13:00:03] Load weight begin. avail mem=62.00 GB\n\
[2026-11-29 13:00:04] Load weight end. elapsed=1.00 s, type=LlamaForCausalLMEagle, quant=none, avail mem=60.50 GB, mem usage=1.50 GB.\n"
    )
}

#[test]
fn a_draft_that_is_loaded_before_the_pools_counts_in_a_trial_as_well() {
    // 60.50 − 78.50 × 0.15 = 48.725 GiB; 131,072 + 4,096 bytes for each token; 387,058 of them.
    let log = format!(
        "{}[2026-11-29 13:00:05] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 387058, K size: 23.62 GB, V size: 23.62 GB\n\
[2026-11-29 13:00:05] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 387058, K size: 0.74 GB, V size: 0.74 GB\n\
[2026-11-29 13:00:05] Memory pool end. avail mem=11.70 GB\n\
[2026-11-29 13:00:06] Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=4, bs=[1, 2], avail mem=11.60 GB\n\
[2026-11-29 13:00:07] max_total_num_tokens=387058, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=8192, available_gpu_mem=10.00 GB\n",
        drafted(0.85)
    );
    let budget = budget(&log);
    assert_eq!(budget.equation, "rest = 60.50 \u{2212} 78.50 \u{d7} (1 \u{2212} 0.85) = 48.72 GiB (\u{b1}0.006)");
    assert!((budget.rest_gib.value - 48.725).abs() < 1e-9, "{:?}", budget.rest_gib);
    let tokens = budget.tokens.expect("tokens");
    assert!(tokens.low <= 387_058.0 && 387_058.0 <= tokens.high && tokens.high - tokens.low < 1000.0, "{tokens:?}");
    assert!(budget.evidence.iter().any(|said| said.place == "stderr:5" && said.text.contains("60.50 GiB")), "{:?}", budget.evidence);
    assert_eq!(budget.not_modelled, Vec::<String>::new());
    let text = budget.text.join("\n");
    assert!(text.contains("The weights take 18.00 of 78.50 GiB") && !text.contains("Contradiction"), "{text}");
}

#[test]
fn a_draft_is_in_the_equation_of_a_trial_that_fails_by_it() {
    // The target alone would fit into 0.22: 62.00 − 78.50 × 0.78 = 0.77; the draft's 1.50 GiB do not.
    let message = "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.22. Raise --mem-fraction-static above 0.230 (minimum viable = 1 - available/pre = 0.2293).";
    let log = format!(
        "{}[2026-11-29 13:00:05] Scheduler hit an exception: Traceback (most recent call last):\nValueError: {message}\n",
        drafted(0.22)
    );
    let reading = crate::feed::explain(&reader(&log), "ValueError", message);
    assert_eq!(reading.class.as_deref(), Some("memory.fraction_below_weights"));
    let text = reading.text.expect("a sentence");
    assert!(text.contains("rest = 60.50 \u{2212} 78.50 \u{d7} (1 \u{2212} 0.22) = \u{2212}0.73 GiB"), "{text}");
    // 1 − 60.50 / 78.50 = 0.229299…
    assert!(text.contains("only a fraction above 0.229300 can start it"), "{text}");
}

#[test]
fn what_is_reserved_before_the_kv_cache_is_taken_out_first() {
    let reserve = "[2026-11-29 13:00:04] Reserving 1.10 GB of the KV budget for post-sizing multimodal allocations (feature-transport pools + embedding cache).\n";
    let log = format!("{}{reserve}", drafted(0.85));
    let budget = budget(&log);
    // 60.50 − 1.10 − 11.775
    assert!((budget.rest_gib.value - 47.625).abs() < 1e-9, "{:?}", budget.rest_gib);
    let text = budget.text.join("\n");
    assert!(text.contains("1.10 GiB of what was free after the weights are taken for states and reserves"), "{text}");
    assert!(text.contains("Weights, states and reserves take 19.10 of 78.50 GiB"), "{text}");
}

#[test]
fn pools_that_hold_nothing_have_their_cause_and_advice_in_a_trial() {
    for (kind, message, class, word) in [
        (
            "RuntimeError",
            "Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0",
            "memory.hybrid_state_cache",
            "it is too little for both",
        ),
        (
            "ValueError",
            "SWA pool (64 tokens) cannot hold even one request: 128 are needed",
            "memory.kv_below_context",
            "makes room for one request",
        ),
        ("AssertionError", "max_running_request is zero", "memory.", "; "),
    ] {
        let log = format!(
            "{}[2026-11-29 13:00:05] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/x/scheduler.py\", line 5, in init\n    x()\n{kind}: {message}\n",
            drafted(0.85)
        );
        let reading = crate::feed::explain(&reader(&log), kind, message);
        assert!(reading.class.as_deref().is_some_and(|found| found.starts_with(class)), "{message}: {:?}", reading.class);
        assert!(reading.text.as_deref().is_some_and(|text| text.contains(word)), "{message}: {:?}", reading.text);
    }
    let unknown = crate::feed::explain(&reader(&drafted(0.85)), "ValueError", "something else");
    assert_eq!(unknown.class, None);
}

#[test]
fn colours_within_the_words_of_a_line_hide_nothing() {
    use bystander_model::evidence::Stream;
    use bystander_model::ids::TimeNs;
    use bystander_model::reading::LogBlock;
    let plain = budget(log!("0.5.9-simulated-llama8b"));
    let log = log!("0.5.9-simulated-llama8b").replace("max_total_num_tokens", "max_total_\x1b[31mnum_tokens\x1b[0m");
    let log = log
        .replace("avail mem=", "avail \x1b[1mmem\x1b[0m=")
        .replace("Load weight", "Load\x1b[0m weight")
        .replace("KV Cache is", "KV \x1b[32mCache is");
    assert_eq!(budget(&log).tokens, plain.tokens);
    let mut reader = bystander_memory::sglang::SglangReader::new();
    reader.block(&LogBlock { stream: Stream::Stderr, first: 1, time: TimeNs(1), text: &log });
    assert_eq!(reader.finish(TRIAL, None).budget.expect("a budget").equation, plain.equation);
}
