//! The story's experiment: a server that cannot start, a debug print, and two suspects that turn out not to matter.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::world::{answer, assert_bytecode_is_of_its_source, assert_nothing_left, engine, python_world, run, text, trials, verdict};

/// How long the whole run may take beside other tests; alone on two cores it takes less than 30 s.
const LIMIT: Duration = Duration::from_secs(180);

#[test]
fn the_story_is_answered_in_one_run() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    let ran = run(&world, &engine.join("story.toml")).run().exits(0);
    assert!(ran.took < LIMIT, "{:?}", ran.took);
    let report = ran.json();
    assert_eq!((&report["format"], &report["status"]), (&Value::from(1), &Value::from("finished")));
    the_story_is_told(&report);
    assert_bytecode_is_of_its_source(&world, &engine);
    assert_nothing_left(&world);
}

#[test]
fn the_story_is_answered_as_well_on_another_machine() {
    if python_world().is_none() {
        return;
    }
    let Some((world, sshd)) = crate::remote::far() else { return };
    let engine = world.copy(&engine(&world), "far/engine");
    world.copy(&engine, "here");
    let run = world.bystander(["--on", "ssh://target/~/engine", "--ssh-config"]).args([sshd.config()]);
    let report = run.args(["run", "--json", "here/story.toml"]).run().exits(0).json();
    the_story_is_told(&report);
    assert_bytecode_is_of_its_source(&world, &engine);
    assert!(world.trial_processes().is_empty() && world.rings().is_empty());
    let live = std::fs::read_dir(crate::remote::far_state(&world).join("edits")).into_iter().flatten().flatten();
    assert_eq!(live.filter(|entry| entry.file_name() != "lock").count(), 0, "an edit is live there");
}

/// Everything that the story has to say.
fn the_story_is_told(report: &Value) {
    the_baseline_is_broken_and_nobody_is_blamed(report);
    every_cell_fails_with_one_signature(report);
    the_budget_is_solved(report);
    the_probe_saw_every_rank(report);
    the_file_is_as_before(report);
    the_printed_configuration_is_recorded(report);
}

fn the_baseline_is_broken_and_nobody_is_blamed(report: &Value) {
    assert_eq!(verdict(report, "factor:allreduce", "outcome"), "baseline_broken");
    for instrument in ["instrument:print", "instrument:probe"] {
        assert_eq!(verdict(report, instrument, "outcome"), "not_needed");
    }
    let print_broke_it = answer(report, "hypothesis:the print broke the baseline", "outcome");
    assert_eq!(print_broke_it["verdict"], "refuted");
    let counterexample = &print_broke_it["evidence"][0]["trial"];
    let trial = trials(report).iter().find(|trial| trial["id"] == *counterexample).expect("the evidence names a trial");
    assert_eq!((&trial["instrument"], &trial["outcome"]), (&Value::from("none"), &Value::from("failed")));
    assert_eq!(verdict(report, "hypothesis:the custom all-reduce takes the memory", "outcome"), "refuted");
    for answer in report["answers"].as_array().expect("answers") {
        assert!(answer["evidence"].as_array().is_some_and(|evidence| !evidence.is_empty()), "without evidence: {answer}");
    }
}

fn the_printed_configuration_is_recorded(report: &Value) {
    for trial in trials(report) {
        let configuration = text(&trial["configuration"]["text"]);
        let custom = trial["levels"]["allreduce"] == "custom";
        let expected = format!("disable_custom_all_reduce={}", if custom { "False" } else { "True" });
        assert!(configuration.contains("mem_fraction_static=0.55") && configuration.contains(&expected), "{configuration}");
        assert!(text(&trial["configuration"]["where"]).starts_with("stderr:"), "{trial}");
    }
}

fn every_cell_fails_with_one_signature(report: &Value) {
    let cells = report["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6);
    let mut signatures = BTreeSet::new();
    for cell in cells {
        assert_eq!((&cell["completed"], &cell["failed"], &cell["void"]), (&Value::from(0), &Value::from(1), &Value::from(0)), "{cell}");
        let causes = cell["causes"].as_array().expect("causes");
        assert_eq!(causes.len(), 1, "{cell}");
        assert_eq!(causes[0]["class"], "memory.fraction_below_weights");
        signatures.insert(text(&causes[0]["signature"]).to_owned());
    }
    assert_eq!(signatures.len(), 1, "{signatures:?}");
}

fn the_budget_is_solved(report: &Value) {
    let budget = &report["budgets"][0]["budget"];
    let equation = text(&budget["equation"]).replace('\u{2212}', "-");
    for number in ["21.697", "93.999", "0.55", "-20.603"] {
        assert!(equation.contains(number), "{number} is missing in {equation}");
    }
    let whole = budget.to_string();
    assert!(whole.contains("0.769179"), "the break-even fraction is missing in {budget:#}");
}

fn the_probe_saw_every_rank(report: &Value) {
    for cell in ["nccl/probe", "custom/probe"] {
        let here: Vec<&Value> = report["captures"].as_array().expect("captures").iter().filter(|capture| capture["cell"] == cell).collect();
        let ranks: BTreeSet<u64> = here.iter().filter_map(|capture| capture["hit"]["rank"].as_u64()).collect();
        assert_eq!(ranks, (0..8).collect(), "{cell}");
        for capture in here {
            let rest = capture["hit"]["values"]["rest_memory"].as_f64().expect("a number");
            assert!((rest + 20.603).abs() < 0.5, "{capture}");
        }
    }
}

fn the_file_is_as_before(report: &Value) {
    let restored = &report["restored"];
    assert_eq!((&restored["files"], &restored["exact"]), (&Value::from(1), &Value::from(true)), "{restored}");
    let clean = restored["clean_trial"].as_u64().expect("a clean trial");
    let with_print = trials(report).iter().filter(|trial| trial["instrument"] == "print").filter_map(|trial| trial["id"].as_u64());
    assert!(with_print.max().expect("the print was launched") < clean, "the clean trial comes after the last undo");
    let trial = trials(report).iter().find(|trial| trial["id"] == clean).expect("a trial");
    assert_eq!((&trial["instrument"], &trial["outcome"]), (&Value::from("none"), &Value::from("failed")));
}
