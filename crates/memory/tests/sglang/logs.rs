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
    assert!(tokens.low <= 421_755.0 && 421_755.0 <= tokens.high, "{tokens:?}");
    assert!(tokens.high - tokens.low < 250.0, "{tokens:?}");
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
        let (tokens, rest) = (budget.tokens.expect("told"), budget.rest_gib);
        let gib = 1_073_741_824.0;
        assert!(tokens.low <= (rest.value * gib / cell).floor() && (rest.value * gib / cell).floor() <= tokens.high, "{tokens:?}");
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
fn a_newer_release_is_said_not_to_be_modelled() {
    let log = log!("0.5.23-cpu-warm").replacen("server_args={", "server_args={'mem_fraction_static': 0.3, ", 1);
    let budget = budget(&log);
    assert_eq!(budget.version.low.as_deref(), Some("0.5.19"));
    assert!(budget.not_modelled.iter().any(|line| line.contains("not one of 0.5.3 to 0.5.13")), "{:?}", budget.not_modelled);
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
