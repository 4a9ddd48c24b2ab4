//! What the tests share: an experiment of two launches, one bare and one with a probe, and what it found.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bystander_testkit::World;
use serde_json::Value;

/// A world for the command.
pub(crate) fn world() -> World {
    World::new(env!("CARGO_BIN_EXE_bystander"))
}

/// An experiment that launches a program once as it is and once with a probe.
pub(crate) struct Experiment<'a> {
    pub(crate) command: &'a [&'a str],
    /// The `ready` of the program, in TOML; none for one that ends.
    pub(crate) ready: Option<&'a str>,
    pub(crate) workload: Option<&'a [&'a str]>,
    /// Where the probe goes.
    pub(crate) at: &'a str,
    pub(crate) after: Option<&'a str>,
    pub(crate) capture: &'a [&'a str],
    /// The metric `count`, in TOML.
    pub(crate) count: &'a str,
}

impl Experiment<'_> {
    /// Runs it in a world and asserts that both launches completed, that no file changed and that nothing is left.
    pub(crate) fn run(&self, world: &World) -> Found {
        let file = world.write("experiment.toml", self.text());
        let report = world.bystander(["run", "--json"]).args([&file]).run().exits(0).json();
        let found = Found { report, state: world.path(".bystander") };
        for instrument in ["none", "probe"] {
            assert_eq!(found.trial(instrument)["outcome"], "completed", "{instrument}: {:#}", found.trial(instrument));
        }
        assert_ne!(found.report["restored"]["exact"], false);
        assert_eq!(world.processes(), []);
        assert_eq!(world.rings(), Vec::<PathBuf>::new());
        found
    }

    fn text(&self) -> String {
        let mut text = format!("[program]\ncommand = {:?}\ntimeout = \"120s\"\n", self.command);
        if let Some(ready) = self.ready {
            let _ = writeln!(text, "ready = {ready}");
        }
        if let Some(workload) = self.workload {
            let _ = writeln!(text, "[workload]\ncommand = {workload:?}\ntimeout = \"60s\"");
        }
        let _ = writeln!(text, "[[probes]]\nname = \"probe\"\nat = {:?}\ncapture = {:?}", self.at, self.capture);
        if let Some(after) = self.after {
            let _ = writeln!(text, "after = {after:?}");
        }
        let _ = writeln!(text, "[metrics]\ncount = {}", self.count);
        text + "[plan]\nbaseline = { instrument = \"none\" }\nblocks = 1\ndescribe = true\n"
    }
}

/// What an experiment found.
pub(crate) struct Found {
    pub(crate) report: Value,
    state: PathBuf,
}

impl Found {
    /// The one launch with an instrument level.
    pub(crate) fn trial(&self, instrument: &str) -> &Value {
        let mut trials = self.report["trials"].as_array().expect("trials").iter().filter(|trial| trial["instrument"] == instrument);
        let trial = trials.next().unwrap_or_else(|| panic!("no launch with {instrument}:\n{:#}", self.report));
        assert!(trials.next().is_none(), "more than one launch with {instrument}");
        trial
    }

    /// The metric of a launch, which is a whole number.
    pub(crate) fn count(&self, instrument: &str) -> u64 {
        let count = self.trial(instrument)["metrics"]["count"].as_f64().unwrap_or_else(|| panic!("no count: {:#}", self.trial(instrument)));
        assert!(count.fract() == 0.0 && count >= 0.0, "{count}");
        count as u64
    }

    /// Everything that a launch wrote to one of its streams.
    pub(crate) fn output(&self, instrument: &str, stream: &str) -> String {
        let path = self.trial(instrument)["output"][stream].as_str().unwrap_or_else(|| panic!("no {stream}"));
        let bytes = fs::read(self.state.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The processes in which the probe was, as `(pid, state, hits)`.
    pub(crate) fn receipts(&self) -> Vec<(u64, String, u64)> {
        let receipts = self.trial("probe")["receipts"].as_array().expect("receipts").iter();
        let number = |receipt: &Value, key: &str| receipt[key].as_u64().expect("a number");
        receipts
            .map(|receipt| {
                (number(receipt, "pid"), receipt["state"].as_str().expect("a word").to_owned(), receipt["hits"].as_u64().unwrap_or(0))
            })
            .collect()
    }

    /// All hits of the probe, recorded or not.
    pub(crate) fn hits(&self) -> u64 {
        self.receipts().iter().map(|(_, _, hits)| hits).sum()
    }

    /// A value that the probe captured first in some process.
    pub(crate) fn captured(&self, expression: &str) -> Value {
        self.report["captures"][0]["hit"]["values"][expression].clone()
    }

    /// Asserts that nothing of the probe shows in what the program wrote.
    pub(crate) fn assert_quiet(&self) {
        for stream in ["stdout", "stderr"] {
            let text = self.output("probe", stream);
            let found = ["bystander_", "<bystander", "Traceback"].into_iter().find(|sign| text.contains(sign));
            assert!(found.is_none(), "{found:?} in {stream}:\n{text}");
        }
    }
}

/// The lines of a log that hold `marker`, sorted, each sort once, numbers masked: those are of clocks, ports and processes.
pub(crate) fn sorts_of_lines(text: &str, marker: &str) -> Vec<String> {
    let masked = |line: &str| line.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("#");
    let mut lines: Vec<String> = text.lines().filter(|line| line.contains(marker)).map(masked).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// A path as text.
pub(crate) fn shown(path: &Path) -> &str {
    path.to_str().expect("a path of this test is text")
}
