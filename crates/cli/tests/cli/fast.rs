//! A small experiment for tests that need many launches: a Python program that ends at once, a level that makes it fail, a print on disk and a
//! probe, and a child in a session of its own that must not outlive its trial.

use std::path::PathBuf;

use bystander_testkit::{Run, Running, Signal, World, until};
use serde_json::Value;

use crate::world::{LIMIT, python_world, run};

const APP: &str = r#"
import os, subprocess, sys
import lib

subprocess.Popen(["sleep", "600"], start_new_session=True)
print("total=%d" % lib.add(7), flush=True)
sys.exit(3 if os.environ.get("MODE") == "bad" else 0)
"#;

pub(crate) const LIB: &str = "def add(rounds):
    total = sum(range(rounds))
    return total
";

const EXPERIMENT: &str = r#"
question = "Does the bad mode break it?"

[program]
command = ["python3", "app.py"]
timeout = "60s"
grace = "1s"

[factors.mode]
good = { env = { MODE = "good" } }
bad = { env = { MODE = "bad" } }

[[edits]]
name = "print"
file = "lib.py"
find = "    return total\n"
insert_before = "    print('DEBUG', total, flush=True)\n"

[[probes]]
name = "probe"
at = "lib:add"
after = "total = ..."
capture = ["total", "rounds"]

[metrics]
total = { log = 'total=(\d+)', scale = "difference", margin = 1 }

[plan]
baseline = { mode = "good", instrument = "none" }
instruments = ["none", ["print", "probe"]]
blocks = 4
describe = true

[[hypotheses]]
claim = "the instruments break it"
predicts = [
    { cell = { mode = "good", instrument = "print+probe" }, outcome = "failed" },
    { cell = { mode = "good", instrument = "none" }, outcome = "completed" },
]
"#;

/// Launches of a whole run: four cells in four blocks.
pub(crate) const LAUNCHES: usize = 16;

/// The small experiment in a world.
pub(crate) struct Fast {
    pub(crate) world: World,
    pub(crate) folder: PathBuf,
    pub(crate) file: PathBuf,
}

impl Fast {
    /// `None` where there is no Python, which is told.
    pub(crate) fn new() -> Option<Self> {
        let world = python_world()?;
        world.write("fast/app.py", APP);
        world.write("fast/lib.py", LIB);
        let file = world.write("fast/fast.toml", EXPERIMENT);
        Some(Self { folder: world.path("fast"), world, file })
    }

    pub(crate) fn run(&self) -> Run {
        run(&self.world, &self.file)
    }

    /// `bystander show --json` of the newest run.
    pub(crate) fn show(&self) -> Run {
        self.world.bystander(["show", "--json"]).cwd(&self.folder)
    }

    /// Starts a run and waits until so many of its trials are told to have ended.
    pub(crate) fn after_trials(&self, ended: usize) -> Running {
        let mut running = self.run().start();
        let told = |running: &Running| running.stderr().lines().filter(|line| line.starts_with("block ")).count();
        until("trials to end", LIMIT, || told(&running) >= ended || running.has_ended());
        assert!(!running.has_ended(), "it ended too early:\n{}", running.stderr());
        running
    }

    /// A run that was killed after its first trials.
    pub(crate) fn killed(&self) {
        let mut running = self.after_trials(2);
        running.signal(Signal::KILL);
        assert_eq!(running.wait().signal, Some(9));
        self.until_quiet();
    }

    /// Waits until nothing of a trial is left.
    pub(crate) fn until_quiet(&self) {
        until("nothing of the trial is left", LIMIT, || self.world.processes().is_empty());
    }

    /// The file that the print goes into, as it was.
    pub(crate) fn source_is_original(&self) -> bool {
        std::fs::read(self.folder.join("lib.py")).is_ok_and(|bytes| bytes == LIB.as_bytes())
    }
}

/// What a run of the small experiment must answer.
pub(crate) fn assert_answers(report: &Value) {
    let found = crate::world::verdicts(report);
    let expected = [
        "factor:mode outcome effect",
        "instrument:print+probe outcome no_effect_seen",
        "instrument:print+probe total inert",
        "hypothesis:the instruments break it outcome refuted",
    ];
    for line in expected {
        assert!(found.iter().any(|found| found == line), "{line} is missing in {found:#?}");
    }
}
