//! Edits whose text is not there any more as it was written down.

use serde_json::Value;

use crate::world::{assert_nothing_left, engine, python_world, run, text, tree};

#[test]
fn text_that_has_drifted_is_refused_with_the_nearest_candidates_and_nothing_is_written() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    let before = tree(&engine);
    let ran = run(&world, &engine.join("drifted.toml")).run().exits(3).says(&["nothing was launched and nothing was written"]);
    let problems = ran.json()["error"]["problems"].as_array().expect("problems").clone();
    let errors: Vec<&Value> = problems.iter().filter(|problem| problem["severity"] == "error").collect();
    let codes: Vec<&str> = errors.iter().map(|problem| text(&problem["code"])).collect();
    assert_eq!(codes, ["edit.text_not_found", "edit.text_ambiguous", "edit.file_changed"]);
    for (problem, name) in errors.iter().zip(["white-space", "twice", "changed"]) {
        assert!(text(&problem["message"]).contains(name), "{problem}");
        assert!(problem["span"].is_object() && problem["help"].is_string(), "without place or next step: {problem}");
    }
    for (problem, place) in [(errors[0], "lines 33 to 35"), (errors[1], "lines 29, 30, 49"), (errors[2], "line 33")] {
        assert!(
            text(&problem["message"]).contains("sizing.py") && problem.to_string().contains(place),
            "without the place {place}: {problem}"
        );
    }
    assert!(errors[0]["notes"].to_string().contains("indent is 4 spaces, the text has 8 spaces"), "what differs: {}", errors[0]);
    assert_eq!(tree(&engine).differences(&before), Vec::<String>::new());
    assert_nothing_left(&world);
    let runs = std::fs::read_dir(engine.join(".bystander/runs")).map_or(0, Iterator::count);
    assert_eq!(runs, 0, "nothing was launched");
}
