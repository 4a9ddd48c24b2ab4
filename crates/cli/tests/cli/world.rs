//! What the tests share: a world for the command, and looking things up in its answers.

use std::path::{Path, PathBuf};

pub(crate) use bystander_testkit::LIMIT;
use bystander_testkit::{Mark, Python, Run, Tree, World, python, skip};
use serde_json::Value;

/// A world for the command.
pub(crate) fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_bystander"))
}

/// A world for an experiment that needs Python; `None` where there is none, which is told.
pub(crate) fn python_world() -> Option<World> {
    if python().is_none() {
        skip("there is no Python 3.8 or newer", Mark::Machine);
        return None;
    }
    Some(world())
}

/// A copy of the engine to practise on.
pub(crate) fn engine(world: &World) -> PathBuf {
    world.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/engine"), "engine")
}

/// `bystander run FILE --json`.
pub(crate) fn run(world: &World, file: &Path) -> Run {
    world.bystander(["run", "--json"]).args([file])
}

/// The answer about something on a metric.
pub(crate) fn answer<'a>(report: &'a Value, about: &str, metric: &str) -> &'a Value {
    let is_it = |answer: &&Value| answer["about"] == about && answer["metric"] == metric;
    report["answers"]
        .as_array()
        .expect("answers")
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no answer about {about} on {metric}:\n{report:#}"))
}

/// The verdict of an answer.
pub(crate) fn verdict<'a>(report: &'a Value, about: &str, metric: &str) -> &'a str {
    answer(report, about, metric)["verdict"].as_str().expect("a word")
}

/// Every answer as `ABOUT METRIC VERDICT`.
pub(crate) fn verdicts(report: &Value) -> Vec<String> {
    let word = |answer: &Value, key: &str| answer[key].as_str().expect("a word").to_owned();
    let answers = report["answers"].as_array().expect("answers").iter();
    answers.map(|answer| [word(answer, "about"), word(answer, "metric"), word(answer, "verdict")].join(" ")).collect()
}

/// The trials of a report.
pub(crate) fn trials(report: &Value) -> &[Value] {
    report["trials"].as_array().expect("trials")
}

/// The trials in which an instrument level was put in.
pub(crate) fn trials_with<'a>(report: &'a Value, instrument: &'a str) -> impl Iterator<Item = &'a Value> {
    trials(report).iter().filter(move |trial| trial["instrument"] == instrument)
}

/// The text of a JSON value.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// What is in a folder, without what the command keeps for itself, and without the folder, whose time that changes.
pub(crate) fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::of(folder, |path| path != Path::new(".bystander"));
    tree.entries.remove(Path::new(""));
    tree
}

/// Asserts that nothing runs in a world, no ring is left and no edit is live.
pub(crate) fn assert_nothing_left(world: &World) {
    assert_eq!(world.processes(), []);
    assert_eq!(world.rings(), Vec::<PathBuf>::new());
    assert_eq!(world.registered(), Vec::<PathBuf>::new());
}

/// Asserts that every bytecode file below a folder was made from the source as it stands there.
pub(crate) fn assert_bytecode_is_of_its_source(world: &World, folder: &Path) {
    assert_bytecode_of(python().expect("checked before"), world, folder);
}

/// The same for the bytecode of one Python.
pub(crate) fn assert_bytecode_of(python: &Python, world: &World, folder: &Path) {
    let ran = world.run(&python.path).args(["-B", "-c", BYTECODE]).args([folder]).run().exits(0);
    assert_eq!(ran.stdout, "", "bytecode that is not of its source");
}

const BYTECODE: &str = "
import importlib.util, marshal, os, struct, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if not name.endswith('.pyc'): continue
        path = os.path.join(folder, name)
        source = importlib.util.source_from_cache(path)
        with open(path, 'rb') as file: held = file.read()
        with open(source, 'rb') as file: text = file.read()
        stat = os.stat(source)
        if struct.unpack('<II', held[8:16]) != (int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF):
            print(path, 'is stale')
        code = marshal.loads(held[16:])
        if code != compile(text, code.co_filename, 'exec', dont_inherit=True):
            print(path, 'is of another text')
";
