//! Rows whose arithmetic was done by hand, to the last digit.

use bystander_model::memory::{CauseClass, Direction};

use crate::replay::{advice, class, holds, one};

const NOT_ENOUGH: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n";

fn start(fraction: &str, class: &str, loads: &str, error: &str) -> String {
    format!(
        "[2026-03-01 10:00:00] server_args=ServerArgs(model_path='m', tp_size=1, mem_fraction_static={fraction}, kv_cache_dtype='auto')\n{}{error}",
        loads.replace("CLASS", class)
    )
}

#[test]
fn a02_the_least_fraction_without_and_with_the_draft() {
    // What was free before the weights is what was left and what they took: 12.25 + 125.65 = 137.90.
    let target = "[2026-03-01 10:00:09] Load weight end. type=CLASS, avail mem=12.25 GB, mem usage=125.65 GB.\n";
    let server = one(&start("0.88", "L", target, NOT_ENOUGH));
    assert_eq!(class(&server), CauseClass::FractionBelowWeights);
    let formula = server.formula.as_ref().expect("a formula");
    assert_eq!(format!("{:.2}", formula.rest_gib.value), "-4.30");
    assert!(formula.text.contains("12.25 \u{2212} 137.90"), "{}", formula.text);
    assert_eq!(format!("{:.4}", advice(&server, "mem_fraction_static").break_even.expect("a break-even").value), "0.9112");

    // From 0.5.14 on the draft is loaded before the sizing, and counts.
    let both = "[2026-03-01 10:00:01] Load weight begin. avail mem=137.90 GB\n".to_owned()
        + target
        + "[2026-03-01 10:00:10] Load weight begin. avail mem=12.25 GB\n[2026-03-01 10:00:11] Load weight end. type=D, avail mem=9.18 GB, mem usage=3.07 GB.\n";
    let error = "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.88. Raise --mem-fraction-static above 0.934 (minimum viable = 1 - available/pre = 0.9334).\n";
    let log = start("0.88, speculative_algorithm='EAGLE'", "L", &both, error);
    let server = one(&log);
    let fraction = advice(&server, "mem_fraction_static");
    assert_eq!(format!("{:.4}", fraction.break_even.expect("a break-even").value), "0.9334");
}

#[test]
fn a09_the_share_that_was_really_used_is_solved_for() {
    // 0.95 leaves 12.31 GiB, and the engine counted -561,981 tokens: the sizing used another fraction.
    let loads = "[2026-03-01 10:00:01] Load weight begin. avail mem=188.10 GB\n[2026-03-01 10:00:09] Load weight end. type=CLASS, dtype=torch.bfloat16, avail mem=21.72 GB, mem usage=166.38 GB.\n";
    let profiled =
        "[2026-03-01 10:00:09] max_total_tokens=66000 is larger than the profiled value -561981. Use the profiled value instead.\n";
    let server = one(&start("0.95, max_total_tokens=66000", "DeepseekV3ForCausalLM", loads, &(profiled.to_owned() + NOT_ENOUGH)));
    assert_eq!((class(&server), server.advice[0].direction), (CauseClass::EffectiveConfigDiffers, Direction::None));
    let formula = server.formula.as_ref().expect("a formula");
    holds(formula.rest_gib, 12.31);
    assert!(server.answer.contains("\u{2212}561,981 tokens"), "{}", server.answer);
    // By two bytes an element, and by one.
    assert!(server.answer.contains("0.689") && server.answer.contains("0.787"), "{}", server.answer);
}

#[test]
fn the_base_of_the_share_is_solved_where_the_engine_prints_its_least_fraction() {
    // 14.00 left and a least fraction of 0.8600 make a base of 100.00, where 60.00 were free before the weights.
    let loads = "[2026-03-01 10:00:01] Load weight begin. avail mem=60.00 GB\n[2026-03-01 10:00:09] Load weight end. type=CLASS, avail mem=14.00 GB, mem usage=46.00 GB.\n";
    let error = "ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.75. Raise --mem-fraction-static above 0.860 (minimum viable = 1 - available/pre = 0.8600).\n";
    let server = one(&start("0.75", "L", loads, error));
    assert_eq!((class(&server), server.advice[0].direction), (CauseClass::FractionSemantics, Direction::Up));
    assert!(server.answer.contains("one of 100.00 GiB here") && server.answer.contains("60.00 GiB"), "{}", server.answer);
    // The usual case is no contradiction: 1 - 14/60 = 0.7667.
    let usual = one(&start("0.75", "L", loads, &error.replace("0.860 ", "0.767 ").replace("0.8600", "0.7667")));
    assert_eq!(class(&usual), CauseClass::FractionBelowWeights);
    assert!(usual.contradictions.is_empty(), "{:?}", usual.contradictions);
}
