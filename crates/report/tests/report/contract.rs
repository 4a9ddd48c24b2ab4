//! The JSON that others build on: every field of the contract is there, numbers are numbers, and the committed schemas are the generated ones.

use std::path::PathBuf;

use bystander_model::report::Report;
use bystander_report::{json, schema};
use serde_json::Value;

use crate::{fixed, story};

fn value(report: &Report) -> Value {
    serde_json::from_slice(&json(report)).expect("one JSON object")
}

#[track_caller]
fn has(value: &Value, pointers: &[&str]) {
    for pointer in pointers {
        assert!(value.pointer(pointer).is_some(), "{pointer} is missing");
    }
}

#[test]
fn every_field_of_the_contract_is_there() {
    let story = value(&story::report());
    has(&story, &["/format", "/run", "/question", "/plan/blocks", "/plan/order_seed", "/plan/cells"]);
    let cell = ["levels/allreduce", "instrument", "trials", "completed", "failed", "timed_out", "void", "metrics"];
    has(&story, &cell.map(|field| format!("/cells/0/{field}")).each_ref().map(String::as_str));
    has(&story, &["/cells/0/causes/0/class", "/cells/0/causes/0/signature", "/cells/0/causes/0/count"]);
    let answer = ["about", "metric", "verdict", "strength", "text", "p", "interval", "needs/launches_per_cell", "needs/missing"];
    has(&story, &answer.map(|field| format!("/answers/0/{field}")).each_ref().map(String::as_str));
    let evidence = ["trial", "kind", "where", "text"];
    has(&story, &evidence.map(|field| format!("/answers/0/evidence/0/{field}")).each_ref().map(String::as_str));
    let trial = ["id", "block", "levels", "instrument", "outcome", "cause", "ready_s", "wall_s", "receipts"];
    has(&story, &trial.map(|field| format!("/trials/2/{field}")).each_ref().map(String::as_str));
    let receipt = ["pid", "rank", "probe", "state", "hits", "dropped"];
    has(&story, &receipt.map(|field| format!("/trials/2/receipts/0/{field}")).each_ref().map(String::as_str));
    has(&story, &["/restored/files", "/restored/exact", "/restored/clean_trial"]);
    let fixed = value(&fixed::report());
    has(&fixed, &["n", "median", "values"].map(|field| format!("/cells/0/metrics/kv_tokens/{field}")).each_ref().map(String::as_str));
}

#[test]
fn values_are_those_of_the_contract_and_the_unknown_is_null() {
    let story = value(&story::report());
    assert_eq!(story["format"], 1);
    assert_eq!(story["answers"][0]["about"], "factor:allreduce");
    assert_eq!(story["answers"][0]["verdict"], "baseline_broken");
    assert_eq!(story["answers"][0]["strength"], "shown");
    assert_eq!(story["answers"][0]["evidence"][0]["kind"], "log");
    assert_eq!(story["answers"][0]["evidence"][0]["where"], "stderr:41");
    assert_eq!(story["answers"][0]["p"], Value::Null);
    assert_eq!(story["answers"][3]["about"], "hypothesis:the print broke the baseline");
    assert_eq!(story["trials"][0]["ready_s"], Value::Null);
    assert_eq!(story["trials"][0]["outcome"], "failed");
    assert_eq!(story["trials"][2]["receipts"][0]["state"], "armed");
    assert_eq!(story["budgets"][0]["budget"]["rest_gib"]["value"], -20.602_55);
    assert_eq!(story["captures"][0]["hit"]["values"]["rest_memory"], -20.602_549_999_999_995, "no digit is lost");
    assert_eq!(value(&fixed::report())["cells"][0]["metrics"]["kv_tokens"]["median"], 152_797.0);
}

#[test]
fn a_report_survives_json_and_no_number_is_text() {
    for report in [story::report(), fixed::report(), fixed::broken_off()] {
        assert!(serde_json::from_slice::<Report>(&json(&report)).expect("parses") == report);
    }
    let mut report = fixed::report();
    report.answers[1].estimate = Some(f64::NAN);
    report.answers[1].p = Some(f64::INFINITY);
    let text = String::from_utf8(json(&report)).expect("UTF-8");
    assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
    assert_eq!(value(&report)["answers"][1]["estimate"], Value::Null);
    assert!(
        !text.contains('\u{2212}') || text.matches('\u{2212}').count() == value_texts(&value(&report)),
        "only sentences hold true minus signs"
    );
}

/// True minus signs within strings.
fn value_texts(value: &Value) -> usize {
    match value {
        Value::String(text) => text.matches('\u{2212}').count(),
        Value::Array(items) => items.iter().map(value_texts).sum(),
        Value::Object(entries) => entries.values().map(value_texts).sum(),
        _ => 0,
    }
}

#[test]
fn a_path_that_is_no_text_is_written_with_marks() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut report = story::report();
    report.file = PathBuf::from(std::ffi::OsString::from_vec(b"/x/\xff.toml".to_vec()));
    assert_eq!(value(&report)["file"], "/x/\u{fffd}.toml");
    assert_eq!(value(&report)["run"], story::report().run);
}

/// Run the tests with `UPDATE_SCHEMAS=1` to write the schemas anew after a type has changed.
#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let schemas = [
        ("run.schema.json", schema::run()),
        ("patch.schema.json", schema::patch()),
        ("diff.schema.json", schema::diff()),
        ("list.schema.json", schema::list()),
        ("dry-run.schema.json", schema::dry_run()),
        ("export.schema.json", schema::export()),
        ("doctor.schema.json", schema::doctor()),
        ("memory-explain.schema.json", schema::memory_explain()),
        ("memory-plan.schema.json", schema::memory_plan()),
        ("error.schema.json", schema::error()),
        ("memory-watch.schema.json", schema::memory_watch()),
        ("watch-hit.schema.json", schema::watch_hit()),
        ("watch-summary.schema.json", schema::watch_summary()),
    ];
    for (name, schema) in schemas {
        let file = folder.join(name);
        let generated = format!("{schema:#}\n");
        if std::env::var_os("UPDATE_SCHEMAS").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(&folder).expect("the folder");
            std::fs::write(&file, &generated).expect("writes");
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(committed == generated, "docs/schema/{name} is not what the types say: run the tests with UPDATE_SCHEMAS=1 and commit it");
    }
}

#[test]
fn the_schemas_ask_for_the_fields_of_the_contract() {
    let run = schema::run();
    let required = |pointer: &str| -> Vec<String> {
        let fields = run.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("{pointer} is missing"));
        fields.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for field in ["format", "run", "plan", "cells", "answers", "trials", "restored"] {
        assert!(required("/required").iter().any(|name| name == field), "{field}");
    }
    for field in ["about", "metric", "verdict", "text", "evidence"] {
        assert!(required("/$defs/Answer/required").iter().any(|name| name == field), "{field}");
    }
    let patch = schema::patch();
    for field in ["format", "edits", "clean", "problems"] {
        assert!(patch["required"].as_array().is_some_and(|names| names.iter().any(|name| name == field)), "{field}");
    }
}
