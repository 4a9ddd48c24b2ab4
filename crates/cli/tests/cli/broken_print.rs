//! Two prints that are wrong: one is blamed by the traceback, the other is refused before anything is launched.

use serde_json::Value;

use crate::world::{answer, assert_nothing_left, engine, python_world, run, text, trials_with, verdict};

#[test]
fn a_print_that_uses_an_unbound_name_is_blamed_by_the_frame_on_its_line_and_one_that_does_not_parse_is_refused() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    let ran = run(&world, &engine.join("broken-print.toml")).run().exits(0).says(&["refused before any launch: no-parse"]);
    let report = ran.json();
    let blamed = answer(&report, "instrument:wrong-name", "outcome");
    assert_eq!((&blamed["verdict"], &blamed["strength"]), (&Value::from("perturbs"), &Value::from("shown")));
    assert!(text(&blamed["text"]).contains("lies on a line that it inserted"), "{blamed}");
    assert!(blamed["evidence"].to_string().contains("asked_memory"), "{blamed}");
    assert_eq!(verdict(&report, "instrument:no-parse", "outcome"), "undetermined");
    assert_eq!(verdict(&report, "hypothesis:the print breaks the server", "outcome"), "supported");
    assert_eq!(trials_with(&report, "no-parse").count(), 0, "it was launched");
    assert!(trials_with(&report, "wrong-name").count() >= 4);
    for trial in trials_with(&report, "wrong-name") {
        assert_eq!((&trial["outcome"], &trial["cause_detail"]["blames"]), (&Value::from("failed"), &Value::from("wrong-name")), "{trial}");
        assert_eq!(
            (&trial["cause"], &trial["cause_detail"]["group"]),
            (&Value::from("python.UnboundLocalError"), &Value::from("instrument"))
        );
    }
    for trial in trials_with(&report, "none") {
        assert_eq!(trial["outcome"], "completed", "{trial}");
    }
    assert_eq!(report["restored"]["exact"], true);
    assert_nothing_left(&world);
}
