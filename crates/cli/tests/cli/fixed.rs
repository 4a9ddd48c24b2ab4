//! The same server with a fraction that works: effects are measured, and instruments are shown to change nothing.

use std::fs;
use std::path::Path;

use bystander_testkit::World;
use serde_json::Value;

use crate::world::{answer, assert_nothing_left, engine, python_world, run, text, trials, verdict};

#[test]
fn on_a_baseline_that_works_the_effect_on_tokens_is_measured_and_the_instruments_show_none() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    // Both instruments go in together and two blocks are run, which takes a third of the time; what two blocks cannot show is not claimed.
    let whole = fs::read_to_string(engine.join("fixed.toml")).expect("the experiment");
    let short = whole
        .replace(r#"["none", "print", "probe"]"#, r#"["none", ["print", "probe"]]"#)
        .replace(r#"instrument = "print" }"#, r#"instrument = "print+probe" }"#)
        .replace("blocks      = { min = 5, max = 5 }", "describe = true\nblocks      = { min = 2, max = 2 }");
    assert!(short.contains(r#"["print", "probe"]]"#) && short.contains("describe"), "the experiment was not shortened");
    let report = measured(&world, &world.write("engine/short.toml", short), &["instrument:print+probe"], 2);
    assert_eq!(trials(&report).iter().filter(|trial| trial["purpose"] == "measure").count(), 8);
    let tokens = answer(&report, "factor:allreduce", "kv_tokens");
    assert_eq!(tokens["estimate"], -315.0, "{tokens}");
    assert!(text(&tokens["text"]).contains("identical in 2 launches"), "{tokens}");
}

#[test]
#[ignore = "slow: run by .ci/run"]
fn the_whole_experiment_shows_no_effect_on_outcomes_and_three_hundred_and_fifteen_tokens_less() {
    let Some(world) = python_world() else { return };
    let report = measured(&world, &engine(&world).join("fixed.toml"), &["instrument:print", "instrument:probe"], 0);
    assert_eq!(verdict(&report, "factor:allreduce", "outcome"), "no_effect_within");
    let tokens = answer(&report, "factor:allreduce", "kv_tokens");
    assert_eq!((&tokens["verdict"], &tokens["estimate"]), (&Value::from("effect"), &Value::from(-315.0)));
    assert!(text(&tokens["text"]).contains("identical in 5 launches") && tokens["interval"].is_null(), "{tokens}");
    let time = answer(&report, "factor:allreduce", "time_per_token");
    assert!(time["interval"].is_array(), "{time}");
    for instrument in ["instrument:print", "instrument:probe"] {
        assert_eq!(verdict(&report, instrument, "outcome"), "inert");
        assert_eq!(verdict(&report, instrument, "kv_tokens"), "inert");
    }
    assert_eq!(verdict(&report, "hypothesis:the print broke the baseline", "outcome"), "refuted");
}

/// What holds of the experiment however many launches it has. Two blocks leave the primary answer open, which is exit code 2.
fn measured(world: &World, file: &Path, instruments: &[&str], code: i32) -> Value {
    let report = run(world, file).run().exits(code).json();
    assert_eq!(report["status"], "finished");
    for trial in trials(&report) {
        assert_eq!(trial["outcome"], "completed", "{trial}");
        assert!(trial["ready_s"].as_f64().is_some() && trial["metrics"]["time_per_token"].as_f64().is_some(), "{trial}");
    }
    for instrument in instruments {
        for metric in ["outcome", "kv_tokens"] {
            let found = verdict(&report, instrument, metric);
            assert!(matches!(found, "inert" | "no_effect_seen"), "{instrument} {metric}: {found}");
        }
        // Times are what the machine makes of them, so a test cannot say which verdict is right; that they are measured it can.
        let time = answer(&report, instrument, "time_per_token");
        assert!(time["interval"].is_array() && time["estimate"].as_f64().is_some_and(|ratio| ratio > 0.0), "{time}");
    }
    assert_eq!(report["restored"]["exact"], true);
    assert!(report["restored"]["clean_trial"].is_u64(), "{}", report["restored"]);
    assert_nothing_left(world);
    report
}
