//! The story's numbers, to the digit.

use bystander_memory::formula::{Cell, Sizing};
use bystander_memory::sglang::SglangReader;
use bystander_model::budget::{BudgetReport, Figure};
use bystander_model::evidence::EvidenceKind;
use bystander_model::value::Value;

use crate::feed::{TRIAL, explain, hit, reader, story};

const NOT_ENOUGH: &str =
    "Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55";

fn eight_ranks(fraction: f64) -> SglangReader {
    let mut reader = SglangReader::new();
    (810..818).for_each(|pid| reader.hit(&hit(pid, &story(fraction))));
    reader
}

fn budget(fraction: f64) -> BudgetReport {
    eight_ranks(fraction).finish(TRIAL, None).budget.expect("a budget")
}

#[test]
fn the_equation_is_right_to_the_sign() {
    let budget = budget(0.55);
    assert_eq!(budget.equation, "rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB");
    assert!((budget.rest_gib.value - -20.60255).abs() < 1e-9, "{:?}", budget.rest_gib);
    assert_eq!(budget.tokens, Some(Figure::exact(-314_803.0)));
    assert_eq!(budget.cell_bytes, Some(70_272));
    assert_eq!(format!("{:.6}", budget.break_even.value), "0.769179");
    assert!(budget.break_even.value > 1.0 - 21.697 / 93.999, "never below the true one");
}

#[test]
fn the_table_of_other_fractions_is_right_for_both_element_sizes() {
    let sizing = Sizing { total: Figure::exact(93.999), available: Figure::exact(21.697), fraction: 0.55 };
    let (bf16, fp8) = (Cell::exact(70_272).expect("positive"), Cell::exact(35_136).expect("positive"));
    for (fraction, rest, wide, narrow) in [
        (0.55, -20.603, -314_803.0, -629_606.0),
        (0.77, 0.077, 1_180.0, 2_360.0),
        (0.80, 2.897, 44_268.0, 88_537.0),
        (0.85, 7.597, 116_082.0, 232_165.0),
        (0.88, 10.417, 159_171.0, 318_342.0),
        (0.90, 12.297, 187_897.0, 375_794.0),
    ] {
        let at = sizing.at(fraction);
        assert!((at.rest().value - rest).abs() < 5e-4, "{fraction}: {:?}", at.rest());
        assert_eq!(at.tokens(bf16), Figure::exact(wide), "{fraction}");
        assert_eq!(at.tokens(fp8), Figure::exact(narrow), "{fraction}");
    }
    let wanted = |gib: f64| 1.0 - (21.697 - gib) / 93.999;
    assert_eq!(sizing.at(wanted(10.0)).tokens(bf16).value, 152_797.0);
    assert_eq!(format!("{:.6}", wanted(10.0)), "0.875563");
}

#[test]
fn the_report_lists_the_asked_the_least_and_usual_fractions() {
    let budget = budget(0.55);
    let fractions: Vec<String> = budget.alternatives.iter().map(|other| format!("{:.6}", other.fraction)).collect();
    assert_eq!(fractions, ["0.550000", "0.769179", "0.770000", "0.800000", "0.850000", "0.880000", "0.900000"]);
    let at = |fraction: f64| budget.alternatives.iter().find(|other| (other.fraction - fraction).abs() < 1e-9).expect("listed");
    assert_eq!(at(0.88).tokens, Some(Figure::exact(159_171.0)));
    assert!((at(0.88).headroom_gib.value - 11.28).abs() < 1e-3);
    assert!(budget.alternatives[1].rest_gib.value > 0.0, "the break-even leaves something");
    assert_eq!(at(0.55).headroom_gib, Figure::exact(21.697), "weights alone leave no more than is free");
}

#[test]
fn the_sentences_use_the_right_words() {
    let text = budget(0.55).text.join("\n");
    assert!(text.contains("The static fraction covers weights and KV cache; what is left over is for everything else."), "{text}");
    assert!(text.contains("The weights take 72.302 of 93.999 GiB"), "{text}");
    assert!(text.contains("51.699 GiB, which leaves −20.603 GiB for the KV cache: less than nothing."), "{text}");
    assert!(text.contains("Only a fraction above 0.769179 can start it."), "{text}");
    assert!(text.contains("At 70,272 bytes per token and rank that is −314,803 tokens."), "{text}");
}

#[test]
fn the_failure_is_explained_with_its_hits() {
    let reading = explain(&eight_ranks(0.55), "RuntimeError", NOT_ENOUGH);
    assert_eq!(reading.class.as_deref(), Some("memory.fraction_below_weights"));
    assert_eq!(
        reading.text.as_deref(),
        Some(
            "no memory is left for the KV cache: rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB; only a fraction above 0.769179 can start it"
        )
    );
    let hits: Vec<&str> = reading.evidence.iter().filter(|e| e.kind == EvidenceKind::Hit).map(|e| e.place.as_str()).collect();
    assert!(hits.iter().all(|place| *place == "kv-budget/pid 810/0") && hits.len() >= 4, "{hits:?}");
    assert!(reading.evidence.iter().any(|e| e.kind == EvidenceKind::Formula && e.text.contains("SGLang 0.4.3 to 0.5.23")));
}

#[test]
fn a_healthy_server_has_a_budget_and_no_class() {
    let reading = eight_ranks(0.88).finish(TRIAL, None);
    assert_eq!((reading.class, reading.text), (None, None));
    let budget = reading.budget.expect("a budget");
    assert_eq!(budget.tokens, Some(Figure::exact(159_171.0)));
    let text = budget.text.join("\n");
    assert!(text.contains("11.280 GiB are left over for graphs, activations and the request table."), "{text}");
    assert!(!text.contains("Only a fraction"), "{text}");
}

#[test]
fn an_error_that_is_not_about_memory_is_left_alone() {
    let reading = explain(&eight_ranks(0.55), "NameError", "name 'rest' is not defined");
    assert_eq!(reading.class, None);
    assert!(reading.evidence.is_empty() && reading.budget.is_some());
}

#[test]
fn hits_and_log_are_checked_against_each_other() {
    let log = "[2026-11-29 13:31:46 TP0] Load weight begin. avail mem=94.00 GB\n\
               [2026-11-29 13:31:47 TP0] Load weight end. type=M, dtype=torch.bfloat16, avail mem=21.70 GB, mem usage=72.30 GB.";
    let mut agrees = reader(log);
    agrees.hit(&hit(810, &story(0.55)));
    let text = agrees.finish(TRIAL, None).budget.expect("a budget").text.join("\n");
    assert!(!text.contains("Contradiction"), "{text}");

    let mut differs = reader(&log.replace("avail mem=21.70", "avail mem=25.00"));
    differs.hit(&hit(810, &story(0.55)));
    let text = differs.finish(TRIAL, None).budget.expect("a budget").text.join("\n");
    assert!(text.contains("Contradiction: free memory after the weights is 21.697 GiB in the hit and 25.00 GiB in the log."), "{text}");
}

#[test]
fn the_fraction_that_the_sizing_uses_wins_over_the_printed_one() {
    let mut reader = reader("server_args=ServerArgs(tp_size=1, mem_fraction_static=0.61)");
    reader.hit(&hit(810, &story(0.55)));
    let budget = reader.finish(TRIAL, None).budget.expect("a budget");
    assert_eq!(budget.fraction, 0.55);
    let text = budget.text.join("\n");
    assert!(text.contains("Contradiction: the sizing uses a fraction of 0.55, the printed arguments say 0.61"), "{text}");
}

#[test]
fn a_rest_that_is_not_the_formula_s_is_a_contradiction() {
    let mut values = story(0.55);
    values[3] = ("rest_memory", Value::Float(-21.5));
    values.push(("max_num_token", Value::Int(-1)));
    let mut reader = SglangReader::new();
    reader.hit(&hit(810, &values));
    let text = reader.finish(TRIAL, None).budget.expect("a budget").text.join("\n");
    assert!(text.contains("Contradiction: the engine's rest is −21.500 GiB and the formula gives −20.603 GiB"), "{text}");
    assert!(text.contains("Contradiction: the engine counts −1 tokens and the formula gives −314,803."), "{text}");
}

#[test]
fn the_least_over_ranks_counts_and_unequal_hits_are_said() {
    let mut reader = eight_ranks(0.55);
    let mut other = story(0.55);
    other[0] = ("available_gpu_memory", Value::Float(21.5));
    reader.hit(&hit(818, &other));
    let budget = reader.finish(TRIAL, None).budget.expect("a budget");
    assert_eq!((budget.available_gib, budget.rank), (Figure::exact(21.5), Some(8)));
    assert!(budget.text.iter().any(|line| line.contains("the ranks' hits show different free memory after the weights")));
}

#[test]
fn hits_without_the_fraction_take_it_from_the_error() {
    let mut reader = reader(&format!("RuntimeError: {NOT_ENOUGH}"));
    reader.hit(&hit(810, &story(0.55)[..2]));
    let budget = reader.finish(TRIAL, None).budget.expect("a budget");
    assert_eq!(budget.fraction, 0.55);
    assert_eq!((budget.version.low.as_deref(), budget.version.high.as_deref()), (Some("0.5.3"), Some("0.5.9")));
    assert_eq!((budget.tokens, budget.cell_bytes), (None, None), "the bytes per token are unknown");
}
