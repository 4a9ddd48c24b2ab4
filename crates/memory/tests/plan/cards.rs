//! Tokens on cards: what the engines' own code gave on simulated cards, and what must hold on any.

use bystander_memory::plan::setup::{Engine, Setup};
use bystander_memory::version::Release;
use bystander_model::memory::{CAP, Column, NONE_STARTS};

use crate::ask::{column, on, text};

fn sglang(model: &str, setup: Setup) -> Column {
    column(&text(model), setup, Engine::Sglang, Release(0, 5, 9))
}

#[test]
fn sglang_gives_what_its_own_code_gave() {
    // SGLang 0.5.9 on simulated cards whose contexts take half a GiB.
    for (gpu, tensor, tokens) in [("80GiB", 1, 421_755.0), ("80GiB", 2, 963_401.0), ("24GiB", 2, 201_283.0)] {
        let found = sglang("llama-8b", on(gpu, tensor)).tokens.expect("tokens");
        assert_eq!(found.value, tokens, "{tensor} \u{d7} {gpu}: {found:?}");
        assert!(found.low < tokens && tokens < found.high, "{tensor} \u{d7} {gpu}: {found:?}");
    }
    // Two stages: both keep the output embedding.
    let stages =
        sglang("llama-8b", Setup { pipeline: 2, fraction: Some(0.7), without_graphs: true, ..on("24GiB", 1) }).tokens.expect("tokens");
    assert!(stages.low <= 130_614.0 && 130_614.0 <= stages.high && (stages.value / 130_614.0 - 1.0).abs() < 0.005, "{stages:?}");
    // With what was free before the weights told, only the weights are estimated.
    let told = Setup { free_gib: Some(79.498), ..on("80GiB", 2) };
    let found = sglang("llama-8b", told).tokens.expect("tokens");
    assert!((found.value - 963_401.0).abs() < 100.0, "{found:?}");
}

#[test]
fn all_reduce_over_pcie_is_shown_off_and_on() {
    let lines = |engine: Engine, setup: Setup| -> Vec<String> {
        let found = column(&text("llama-3.1-70b-instruct"), setup, engine, engine.newest());
        found.derivation.into_iter().filter(|line| line.starts_with("PCIe-IPC all-reduce")).collect()
    };
    let pcie = |tensor| Setup { pcie_ipc: true, ..on("RTX PRO 6000", tensor) };
    for engine in [Engine::Sglang, Engine::Vllm] {
        // 512 rows of 8,192 numbers, 37.25 times; the same whether it is asked for or not.
        let found = lines(engine, pcie(8));
        assert!(found[0].contains("298.0 MiB") && found[0].contains("after the pools"), "{found:?}");
        assert!(found[1].contains("of KV cache lost") && found[1].contains("least that starts stays"), "{found:?}");
        assert_eq!(found, lines(engine, on("RTX PRO 6000", 8)), "{engine:?}");
        assert!(lines(engine, on("h100", 8)).is_empty() && lines(engine, on("RTX PRO 6000", 1)).is_empty(), "{engine:?}");
        let tight = lines(engine, Setup { fraction: Some(0.995), ..pcie(8) });
        assert!(tight.iter().any(|line| line.contains("does not fit at 0.995") && line.contains("fraction of")), "{tight:?}");
    }
    assert!(lines(Engine::Sglang, Setup { pcie_ipc: false, ..pcie(6) }).is_empty(), "six ranks have no workspace");
    let large = Setup { pcie_ipc_numbers: Some(8192 * 8192), ..pcie(8) };
    let found = lines(Engine::Sglang, large);
    assert!(found[0].contains("4768.0 MiB") && found[0].contains("SGLANG_PCIE_IPC_MAX_NUMEL"), "{found:?}");
}

#[test]
fn vllm_lies_in_the_interval() {
    // vLLM 0.32 on a simulated A100 of 80 GiB.
    let found = column(&text("llama-8b"), on("80GiB", 1), Engine::Vllm, Release(0, 32, 0)).tokens.expect("tokens");
    assert!(found.low <= 477_456.0 && 477_456.0 <= found.high, "{found:?}");
    // With the step that the engine took, and no graphs, within half a percent.
    let told = Setup { chunk: Some(2048), without_graphs: true, requests: Some(256), ..on("80GiB", 1) };
    let found = column(&text("llama-8b"), told, Engine::Vllm, Release(0, 32, 0)).tokens.expect("tokens");
    assert!((found.value / 477_456.0 - 1.0).abs() < 0.005, "{found:?}");
    let wider = Setup { chunk: Some(4096), fraction: Some(0.7), without_graphs: true, requests: Some(256), ..on("80GiB", 1) };
    let found = column(&text("llama-8b"), wider, Engine::Vllm, Release(0, 32, 0)).tokens.expect("tokens");
    assert!((found.value * 131_072.0 / 1_073_741_824.0 - 40.47).abs() < 0.05, "{found:?}");
}

#[test]
fn more_of_the_card_gives_more_tokens_and_leaves_less() {
    for engine in [Engine::Sglang, Engine::Vllm] {
        for model in ["llama-8b", "gpt-oss-120b", "gemma-3-27b-it", "qwen3-next-80b-a3b-instruct", "deepseek-v3"] {
            let column = column(&text(model), on("b200", 8), engine, engine.newest());
            assert!(!column.table.is_empty(), "{model} by {}: {:?}", column.name, column.not_modelled);
            for pair in column.table.windows(2) {
                let (a, b) = (&pair[0], &pair[1]);
                assert!(
                    a.fraction < b.fraction && a.tokens.value <= b.tokens.value && a.headroom_gib.value >= b.headroom_gib.value,
                    "{model} by {}: {a:?} {b:?}",
                    column.name
                );
                assert!(a.tokens.low <= a.tokens.value && a.tokens.value <= a.tokens.high, "{model} by {}: {a:?}", column.name);
            }
        }
    }
}

#[test]
fn the_least_fraction_is_where_it_starts() {
    for engine in [Engine::Sglang, Engine::Vllm] {
        let ask = |fraction| column(&text("llama-3.1-70b-instruct"), Setup { fraction, ..on("h100", 4) }, engine, engine.newest());
        let found = ask(None);
        let range = found.fraction.expect("a range");
        assert!(range.least.low <= range.least.value && range.least.value <= range.least.high);
        let start = if engine == Engine::Vllm { 131_072.0 } else { 1.0 };
        let at = |fraction: f64| ask(Some(fraction)).tokens.expect("tokens").value;
        assert!(at(range.least.value) >= start, "{}: {}", found.name, at(range.least.value));
        assert!(at(range.least.value - 0.0001) < start, "{}: {}", found.name, at(range.least.value - 0.0001));
        let (low, high) = range.works.expect("a fraction works");
        assert!(range.least.value <= low && low <= high && high < 1.0);
        let recommended = range.recommended.expect("one is recommended");
        assert!((low..=high).contains(&recommended));
        assert!(at(low) >= 131_072.0);
    }
}

#[test]
fn what_does_not_fit_has_no_fraction() {
    // 641 GiB of weights on eight cards of 80 GB.
    let found = column(&text("deepseek-v3"), on("h100", 8), Engine::Sglang, Release(0, 5, 23));
    assert!(found.tokens.expect("tokens").high <= 0.0, "{:?}", found.tokens);
    assert!(found.fraction.is_none_or(|range| range.works.is_none()), "{:?}", found.fraction);
    // On cards of 141 GB it does.
    let found = column(&text("deepseek-v3"), on("h200", 8), Engine::Sglang, Release(0, 5, 23));
    assert!(found.fraction.expect("a range").works.is_some());
}

#[test]
fn a_release_before_its_rules_changed_has_the_old_default() {
    let at = |engine, release| {
        column(&text("llama-8b"), on("80GiB", 1), engine, release)
            .derivation
            .iter()
            .find(|line| line.starts_with("fraction "))
            .cloned()
            .expect("a fraction")
    };
    assert!(at(Engine::Vllm, Release(0, 17, 1)).contains("0.9 "));
    assert!(at(Engine::Vllm, Release(0, 22, 0)).contains("0.92 "));
    assert!(at(Engine::Sglang, Release(0, 4, 3)).contains("0.88 "));
    assert!(at(Engine::Sglang, Release(0, 5, 23)).contains("0.83 "));
}

#[test]
fn releases_that_are_not_known_say_so() {
    for engine in [Engine::Sglang, Engine::Vllm] {
        let found = column(&text("llama-8b"), on("80GiB", 1), engine, Release(0, 99, 0));
        assert!(found.not_modelled.iter().any(|line| line.contains("newer")), "{:?}", found.not_modelled);
        assert!(found.tokens.is_some());
    }
}

#[test]
fn a_model_that_starts_at_no_fraction_is_said_to() {
    for engine in [Engine::Sglang, Engine::Vllm] {
        let found = column(&text("deepseek-v3"), on("h100", 8), engine, engine.newest());
        let said: Vec<&String> = found.derivation.iter().filter(|line| line.starts_with(NONE_STARTS)).collect();
        assert!(found.fraction.is_none() && found.tokens.is_some_and(|tokens| tokens.high < 0.0), "{found:?}");
        // The least that the weights may take is more than the most that may be free.
        assert!(said.len() == 1 && !said[0].contains("it may"), "{said:?}");
    }
    // Of a card that is hardly large enough the bounds leave it open.
    let open = column(&text("deepseek-v3"), on("81GiB", 8), Engine::Sglang, Engine::Sglang.newest());
    let said = open.derivation.iter().find(|line| line.starts_with(NONE_STARTS));
    assert!(said.is_none_or(|line| line.contains("it may")), "{said:?}");
}

#[test]
fn a_cap_on_tokens_that_counts_is_told() {
    let capped = |most| Setup { most_tokens: Some(most), ..on("h100", 8) };
    let told = |most| {
        let found = sglang("llama-3.1-70b-instruct", capped(most));
        (found.tokens.map(|tokens| tokens.value), found.derivation.into_iter().find(|line| line.starts_with(CAP)))
    };
    let (tokens, said) = told(100_000);
    assert_eq!(tokens, Some(100_000.0));
    assert!(said.is_some_and(|said| said.contains("100,000 caps the pool")));
    assert_eq!(told(90_000_000).1, None);
}

#[test]
fn vllm_starts_with_no_share_that_is_not_free() {
    let vllm = |setup: Setup| column(&text("llama-3.1-70b-instruct"), setup, Engine::Vllm, Engine::Vllm.newest());
    let refuses = |found: &Column| found.derivation.iter().any(|line| line.starts_with("vLLM refuses a share that is not free"));
    // 0.92 of the card is 72.8 GiB; the weights alone are 16.4.
    let taken = vllm(Setup { free_gib: Some(10.0), ..on("h100", 8) });
    assert_eq!(taken.tokens.expect("told").high, 0.0, "{taken:#?}");
    assert!(taken.fraction.is_none() && refuses(&taken) && taken.derivation.iter().any(|line| line.starts_with(NONE_STARTS)), "{taken:#?}");
    let whole = vllm(Setup { fraction: Some(1.0), ..on("h100", 8) });
    assert!(whole.tokens.expect("told").high == 0.0 && refuses(&whole) && whole.fraction.is_some(), "{whole:#?}");
    // What is free bounds what can be asked for.
    let some = vllm(Setup { free_gib: Some(40.0), fraction: Some(0.45), ..on("h100", 8) });
    let (_, high) = some.fraction.and_then(|range| range.works).expect("a range");
    assert!(some.tokens.expect("told").low > 0.0 && high < 40.0 / 79.0 && !refuses(&some), "{some:#?}");
}

#[test]
fn no_more_is_free_than_the_card_has() {
    for engine in [Engine::Sglang, Engine::Vllm] {
        let on_card = |free_gib| column(&text("llama-3.1-70b-instruct"), Setup { free_gib, ..on("h100", 8) }, engine, engine.newest());
        let (told, most) = (on_card(Some(200.0)), on_card(None));
        let tokens = |column: &Column| column.tokens.expect("told").value;
        assert!(tokens(&told) < 1.03 * tokens(&most), "{engine:?}: {} {}", tokens(&told), tokens(&most));
        assert!(told.fraction.and_then(|range| range.works).is_some_and(|(_, high)| high <= 1.0), "{told:#?}");
        assert!(told.derivation.iter().any(|line| line.contains("200 GiB, as given, is more than that")), "{told:#?}");
    }
}

#[test]
fn rows_and_width_of_the_request_table_are_of_one_context() {
    // 131,072 tokens by a factor of 8: 2,048 rows, the least, of 1,048,576 + 4 numbers of four bytes.
    let found = sglang("gemma-3-27b-it", on("h200", 4));
    let line = found.derivation.iter().find(|line| line.contains("request table of")).expect("told");
    assert!(line.contains("request table of 2048 rows 8.00 GiB"), "{line}");
    assert!(found.derivation.iter().any(|line| line.contains("sized for 1,048,576 tokens")), "{found:#?}");
}
