//! The story on the engine it came from: SGLang 0.5.9 on a simulated GPU, as `examples/sglang/README.md` says.
//!
//! `BYSTANDER_SGLANG` names the folder with the installed engine; without it there is nothing to launch.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bystander_testkit::{Mark, Ran, Tree, World, skip};
use serde_json::Value;

use crate::experiment::{shown, world};

/// The file that the print goes into, below the folder of packages.
const SIZING: &str = "sglang/srt/model_executor/model_runner_kv_cache_mixin.py";

/// The engine, and the experiments beside a link to its packages.
struct Engine {
    /// One test at a time: both put the print into the same installed file, each as a user of its own that knows nothing of the other.
    _turn: MutexGuard<'static, ()>,
    world: World,
    folder: PathBuf,
    packages: PathBuf,
    experiments: PathBuf,
}

impl Engine {
    /// Finds the engine; `None` where there is none, which is told.
    fn find() -> Option<Self> {
        let Some(folder) = std::env::var_os("BYSTANDER_SGLANG").map(PathBuf::from) else {
            skip("BYSTANDER_SGLANG names no engine (see examples/sglang/README.md)", Mark::Download);
            return None;
        };
        let ask = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let answer = Command::new(folder.join("bin/python3")).args(["-c", ask]).output().expect("the engine's Python starts");
        let packages = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
        let world = world();
        let experiments = world.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sglang"), "sglang");
        // A link that the developer made for an engine of their own is not a part of the example.
        drop(std::fs::remove_file(experiments.join("installed")));
        symlink(&packages, experiments.join("installed")).expect("a link");
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self { _turn: turn, world, folder, packages, experiments })
    }

    fn run(&self, file: &str) -> Ran {
        let inherited = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{inherited}", shown(&self.folder.join("bin")));
        let run = self.world.bystander(["run", "--json"]).args([self.experiments.join(file)]);
        run.env("PATH", path).env("BYSTANDER_SGLANG", &self.folder).run()
    }

    /// The folder of the file that is edited, bytecode included.
    fn tree(&self) -> Tree {
        let sizing = self.packages.join(SIZING);
        let own = |path: &Path| path.to_string_lossy().contains("model_runner_kv_cache_mixin");
        Tree::of(sizing.parent().expect("a file in a folder"), |path| path == Path::new("__pycache__") || own(path))
    }
}

#[test]
fn sglang_stops_at_its_fraction_with_and_without_the_print() {
    let Some(engine) = Engine::find() else { return };
    let before = engine.tree().entries[Path::new("model_runner_kv_cache_mixin.py")].clone();
    let report = engine.run("story.toml").exits(0).json();
    for cell in report["cells"].as_array().expect("cells") {
        assert_eq!((cell["failed"].as_u64(), cell["trials"].as_u64()), (Some(1), Some(1)), "{cell:#}");
        assert_eq!(cell["causes"][0]["class"], "memory.fraction_below_weights", "{cell:#}");
        assert_eq!(cell["causes"][0]["signature"], report["cells"][0]["causes"][0]["signature"]);
    }
    for about in ["instrument:print", "instrument:probe"] {
        assert_eq!(verdict(&report, about), "not_needed");
    }
    assert_eq!(verdict(&report, "hypothesis:the print broke the server"), "refuted");
    let values = &report["captures"][0]["hit"]["values"];
    let rounded = |name: &str| format!("{:.3}", values[name].as_f64().unwrap_or_else(|| panic!("no {name}: {values}")));
    assert_eq!(["available_gpu_memory", "total_gpu_memory", "rest_memory"].map(rounded), ["1.258", "3.998", "-0.541"]);
    let trial = report["trials"].as_array().expect("trials").iter().find(|trial| trial["instrument"] == "print").expect("a launch");
    let stdout = engine.experiments.join(".bystander").join(trial["output"]["stdout"].as_str().expect("a file"));
    let printed = std::fs::read_to_string(stdout).expect("what it printed");
    assert!(printed.contains("DEBUG avail=1.258 total=3.998 fraction=0.55 rest=-0.541"), "{printed}");
    assert_eq!(report["restored"]["exact"], true);
    assert_eq!(engine.tree().entries[Path::new("model_runner_kv_cache_mixin.py")], before);
}

#[test]
fn sglang_starts_at_another_fraction_with_and_without_the_print() {
    let Some(engine) = Engine::find() else { return };
    let before = engine.tree().entries[Path::new("model_runner_kv_cache_mixin.py")].clone();
    let report = engine.run("fixed.toml").exits(0).json();
    for cell in report["cells"].as_array().expect("cells") {
        assert_eq!((cell["completed"].as_u64(), cell["trials"].as_u64()), (Some(1), Some(1)), "{cell:#}");
        assert_eq!(cell["metrics"]["kv_tokens"]["values"], serde_json::json!([16996.0]), "{cell:#}");
    }
    assert_eq!(report["restored"]["exact"], true);
    assert_eq!(engine.tree().entries[Path::new("model_runner_kv_cache_mixin.py")], before);
}

fn verdict<'a>(report: &'a Value, about: &str) -> &'a str {
    let is_it = |answer: &&Value| answer["about"] == about && answer["metric"] == "outcome";
    let answer = report["answers"].as_array().expect("answers").iter().find(is_it);
    answer.and_then(|answer| answer["verdict"].as_str()).unwrap_or_else(|| panic!("no answer about {about}:\n{report:#}"))
}
