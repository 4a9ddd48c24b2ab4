//! `examples/heisenbug`: a print and an unsafe capture that change a race, and a probe at the same place that does not.

use std::path::Path;

use serde_json::Value;

use crate::world::{answer, assert_nothing_left, python_world, run, trials_with, verdict};

#[test]
fn a_print_and_an_unsafe_capture_change_the_race_and_a_probe_does_not() {
    let Some(world) = python_world() else { return };
    let folder = world.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/heisenbug"), "heisenbug");
    let report = run(&world, &folder.join("heisenbug.toml")).run().exits(0).json();
    for instrument in ["print", "unsafe-probe"] {
        let answer = answer(&report, &format!("instrument:{instrument}"), "outcome");
        assert_eq!((&answer["verdict"], &answer["strength"]), (&Value::from("perturbs"), &Value::from("shown")), "{answer:#}");
        for trial in trials_with(&report, instrument) {
            assert_eq!((&trial["outcome"], &trial["cause"]), (&Value::from("failed"), &Value::from("python.RuntimeError")), "{trial:#}");
        }
    }
    assert_eq!(verdict(&report, "instrument:probe", "outcome"), "no_effect_seen");
    assert_eq!(verdict(&report, "hypothesis:the bank loses deposits when nobody looks", "outcome"), "refuted");
    assert_eq!(verdict(&report, "hypothesis:the print loses them", "outcome"), "supported");
    for instrument in ["none", "probe"] {
        for trial in trials_with(&report, instrument) {
            assert_eq!(trial["outcome"], "completed", "{trial:#}");
        }
    }
    assert!(report["notes"].to_string().contains("unsafe-probe is unsafe"), "{:#}", report["notes"]);
    assert_eq!(report["restored"]["exact"], true);
    assert_nothing_left(&world);
}
