//! The file that the whole design is about, and one with every key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bystander_lab::plan::{Blocks, EditAction, Expect, MetricSource, Pick, Plan, Prediction, Probe, Refused, Scale, Stop, Template};
use bystander_lab::spec::{self, Checked};
use bystander_model::outcome::Outcome;
use bystander_model::probe::{Delivery, syntax};

use crate::shown::FILE;

const STORY: &str = include_str!("story.toml");

fn checked(text: &str) -> Checked {
    spec::parse(text, Path::new(FILE)).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn templates(texts: &[&str]) -> Vec<Template> {
    texts.iter().map(|text| Template((*text).to_owned())).collect()
}

fn predicted_outcome(prediction: &Prediction) -> (String, Outcome) {
    let Prediction::Outcome { cell, outcome } = prediction else { panic!("{prediction:?}") };
    (cell.to_string(), *outcome)
}

#[test]
fn the_story_is_read_as_it_is_written() {
    let Checked { plan, warnings, .. } = checked(STORY);
    assert_eq!(warnings, []);
    assert_eq!(plan.file, Path::new(FILE));
    assert_eq!(plan.question.as_deref(), Some("Does the custom all-reduce make the server run out of memory?"));
    assert_eq!(plan.program.command, templates(&["python3", "-m", "engine", "--mem-fraction-static", "0.55", "--port", "{port}"]));
    assert_eq!(plan.program.cwd, Path::new("/exp"));
    let ready = plan.program.ready.as_ref().expect("the story says when it is ready");
    assert_eq!(ready.http[0].url, Template("http://127.0.0.1:{port}/health".into()));
    assert_eq!((ready.log.as_slice(), &ready.port), (["ready to roll".to_owned()].as_slice(), &None));
    let program = &plan.program;
    let spans = [program.timeout, program.stall, program.grace].map(|span| span.as_secs());
    assert_eq!(spans, [900, 60, 10]);
    let allreduce = &plan.factors["allreduce"];
    assert_eq!(allreduce["nccl"].args, templates(&["--disable-custom-all-reduce"]));
    assert_eq!(allreduce["custom"].env["FORCE_CUSTOM_AR"].0, "1");
    assert_eq!(plan.blocks, Blocks { min: 4, max: 10 });
    assert_eq!((plan.seed, plan.expect, plan.primary.as_str(), plan.margin), (None, Expect::Any, "outcome", None));
    assert_eq!((plan.describe, plan.stop, plan.refused), (false, Stop::Same, Refused::Stop));
    let metric = &plan.metrics["kv_tokens"];
    assert_eq!(metric.source, MetricSource::Log { pattern: r"max_total_num_tokens=(\d+)".into(), pick: Pick::Only });
    assert_eq!((metric.scale, metric.margin, &metric.unit), (Scale::Difference, Some(100.0), &None));
}

#[test]
fn the_storys_instruments_keep_their_texts_and_places() {
    let plan = checked(STORY).plan;
    let probe = &plan.probes[0];
    assert_eq!((probe.spec.name.as_str(), probe.spec.at.to_string().as_str()), ("kv-budget", "engine.sizing:profile_max_num_token"));
    assert_eq!(probe.spec.after.as_deref(), Some("rest_memory = ..."));
    assert_eq!(probe.spec.capture, ["available_gpu_memory", "total_gpu_memory", "self.mem_fraction_static", "rest_memory"]);
    assert_eq!((probe.spec.unsafe_capture, probe.spec.limit, &probe.spec.rank), (false, None, &None));
    let edit = &plan.edits[0];
    assert_eq!(edit.file, Path::new("/exp/engine/sizing.py"));
    assert!(edit.find.starts_with("    rest_memory = available_gpu_memory") && edit.find.ends_with("    )\n"));
    assert!(matches!(&edit.action, EditAction::InsertAfter(text) if text.starts_with("    import logging as _logging\n")));
    let probe_places = ["name", "at", "after", "capture.2"].map(|key| &STORY[probe.spans[key].clone()]);
    assert_eq!(
        probe_places,
        [r#""kv-budget""#, r#""engine.sizing:profile_max_num_token""#, r#""rest_memory = ...""#, r#""self.mem_fraction_static""#]
    );
    let edit_places = ["name", "file"].map(|key| &STORY[edit.spans[key].clone()]);
    assert_eq!(edit_places, [r#""print""#, r#""engine/sizing.py""#]);
    assert!(STORY[edit.spans["find"].clone()].contains("available_gpu_memory"));
    assert!(STORY[edit.spans["text"].clone()].contains("DEBUG rest="));
}

#[test]
fn the_storys_cells_are_every_combination_once_with_the_baseline_first() {
    let plan = checked(STORY).plan;
    let cells: Vec<String> = plan.cells.iter().map(ToString::to_string).collect();
    assert_eq!(cells, ["nccl/none", "nccl/print", "nccl/kv-budget", "custom/none", "custom/print", "custom/kv-budget"]);
    assert_eq!(plan.baseline, plan.cells[0]);
    assert_eq!(plan.instruments_of(&plan.cells[1]), ["print"]);
    let claim = &plan.hypotheses[0];
    assert_eq!(claim.claim, "the print broke the baseline");
    let predicted: Vec<(String, Outcome)> = claim.predicts.iter().map(predicted_outcome).collect();
    assert_eq!(predicted, [("nccl/print".into(), Outcome::Failed), ("nccl/none".into(), Outcome::Completed)]);
}

#[test]
fn a_plan_survives_being_recorded() {
    for text in [STORY, EVERY_KEY] {
        let plan = checked(text).plan;
        let recorded = serde_json::to_string(&plan).expect("a plan is plain data");
        assert_eq!(serde_json::from_str::<Plan>(&recorded).expect("what was recorded is a plan"), plan);
    }
}

#[test]
fn every_value_can_be_found_again() {
    let places = checked(STORY).places;
    let found = ["program.command[2]", "factors.allreduce.custom.env.FORCE_CUSTOM_AR", "probes[0].capture[3]", "plan.blocks.max"];
    assert_eq!(found.map(|path| &STORY[places[path].clone()]), [r#""engine""#, r#""1""#, r#""rest_memory""#, "10"]);
}

#[test]
fn the_hash_is_that_of_the_bytes() {
    let empty = checked("program.command = ['true']\nplan.describe = true");
    assert_eq!(empty.sha256, "356a4ecedbc8baaa7fbb3706c8f92092cc70d4121fb823c9c64ab1e017e02e00");
}

#[test]
fn a_probe_recorded_before_it_had_conditions_is_still_read() {
    let old = r#"{"name":"p","at":"m:f","after":"x = ...","capture":["x"],"allow_unsafe":true,"limit":3,"rank":null,"spans":{"at":{"start":1,"end":2}}}"#;
    let probe: Probe = serde_json::from_str(old).expect("a recorded probe");
    assert_eq!(probe.spec, syntax::parse("m:f after 'x = ...' {x} unsafe limit 3 as p").expect("a probe").probe);
    let again: Probe = serde_json::from_str(&serde_json::to_string(&probe).expect("JSON")).expect("what was written");
    assert_eq!(again, probe);
}

#[test]
fn every_key_reaches_the_plan() {
    let Checked { plan, warnings, .. } = checked(EVERY_KEY);
    assert_eq!(warnings, []);
    let program = &plan.program;
    assert_eq!(program.cwd, Path::new("/exp/sub"));
    assert_eq!(program.env["HOME"].0, "{trial}/home");
    assert_eq!(program.ready.as_ref().and_then(|ready| ready.port.as_ref()), Some(&Template("{port}".into())));
    assert_eq!([program.timeout, program.stall, program.grace], [5400, 30, 0].map(Duration::from_secs));
    let workload = plan.workload.as_ref().expect("there is a workload");
    assert_eq!((workload.command[0].0.as_str(), workload.timeout), ("{python}", Duration::from_millis(90_500)));
    assert_eq!(plan.factors["cache"]["off"].unset, ["CACHE"]);
    let probe = &plan.probes[0];
    let line = "a.py:10 {x} unsafe limit 1000, 600/min if x < 0 rank self.rank compiled skip via mount as look";
    assert_eq!(probe.spec, syntax::parse(line).expect("the same probe on one line").probe);
    assert_eq!([plan.edits[0].delivery, plan.edits[1].delivery], [Delivery::Mount, Delivery::Auto]);
    let actions: Vec<&EditAction> = plan.edits.iter().map(|edit| &edit.action).collect();
    assert_eq!(actions, [&EditAction::InsertBefore("b\n".into()), &EditAction::Replace(String::new())]);
    assert_eq!(
        (plan.edits[0].file.clone(), plan.edits[0].allow_undefined.as_slice()),
        (PathBuf::from("/x/a.py"), &[String::from("debug")][..])
    );
    assert_eq!(plan.edits[0].sha256.as_deref(), Some("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    let sources: Vec<&MetricSource> = plan.metrics.values().map(|metric| &metric.source).collect();
    let read = MetricSource::Workload { pattern: "p50=(.*)".into(), pick: Pick::Last };
    assert_eq!(sources, [&MetricSource::ReadySeconds, &MetricSource::WallSeconds, &read]);
    assert_eq!((plan.metrics["p50"].margin, plan.metrics["p50"].unit.as_deref()), (Some(0.02), Some("ms")));
    let instruments: Vec<(&str, usize)> = plan.instruments.iter().map(|(name, names)| (name.as_str(), names.len())).collect();
    assert_eq!(instruments, [("look+before", 2), ("cut", 1), ("none", 0)]);
    assert_eq!((plan.blocks, plan.seed), (Blocks { min: 6, max: 6 }, Some(u64::MAX)));
    assert_eq!((plan.expect, plan.primary.as_str(), plan.margin), (Expect::Completed, "p50", Some(0.1)));
    assert_eq!((plan.describe, plan.stop, plan.refused), (true, Stop::All, Refused::Drop));
    assert_eq!(predicted_outcome(&plan.hypotheses[0].predicts[0]), ("off/look+before".to_owned(), Outcome::TimedOut));
}

const EVERY_KEY: &str = r#"
[program]
command = ["{python}", "app.py", ""]
cwd = "./sub"
env = { HOME = "{trial}/home", PORT = "{port}" }
ready = { http = "http://[::1]:{port}/health", log = '^ready$', port = "{port}" }
timeout = "1h30m"
stall = "30s"
grace = "0s"
[workload]
command = ["{python}", "-c", 'print({"port": 1})']
timeout = "1m30s500ms"
[factors.cache]
on = {}
off = { args = ["--no-cache"], env = { A = "1" }, unset = ["CACHE"] }
[[probes]]
name = "look"
at = "a.py:10"
capture = ["x"]
unsafe = true
limit = 1_000
rate = "600/min"
if = "x < 0"
rank = "self.rank"
compiled = "skip"
delivery = "mount"
[[edits]]
name = "before"
file = "/x/a.py"
find = "a\n"
insert_before = "b\n"
sha256 = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"
allow_undefined = ["debug"]
delivery = "mount"
[[edits]]
name = "cut"
file = "../a.py"
find = "a\n"
replace = ""
[metrics]
up = { from = "ready_s" }
wall = { from = "wall_s", scale = "ratio" }
p50 = { workload = "p50=(.*)", pick = "last", scale = "ratio", margin = 0.02, unit = "ms" }
[plan]
baseline = { instrument = "none", cache = "on" }
instruments = [["look", "before"], "cut", "none"]
blocks = 6
seed = 18446744073709551615
expect = "completed"
primary = "p50"
margin = 0.1
describe = true
stop = "all"
refused = "drop"
[[hypotheses]]
claim = "looking stalls it"
predicts = [{ cell = { cache = "off", instrument = "before+look" }, outcome = "timed_out" }]
"#;
