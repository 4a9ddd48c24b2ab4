//! Every trap of `crates/lab/tests/traps`: a small real program, an experiment on it, and the only right answer. Each must come out right three times
//! in a row where `BYSTANDER_TRAP_ROUNDS` does not say how often.

mod beside;
mod expected;
mod limit;
mod names;

use std::path::{Path, PathBuf};

use bystander_testkit::{LIMIT, Mark, Tree, World, python, skip, until};
use serde_json::Value;

use beside::Beside;
use expected::Expected;
use limit::Limit;

const ROUNDS: u32 = 3;

/// Where the traps lie.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/traps")
}

/// Springs one trap, several times in a row.
fn spring(name: &str) {
    if python().is_none() {
        skip("there is no Python 3.8 or newer", Mark::Machine);
        return;
    }
    let expected = Expected::read(&folder().join(name).join("expect.toml"));
    let rounds = std::env::var("BYSTANDER_TRAP_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    for round in 1..=rounds {
        let world = World::new(env!("CARGO_BIN_EXE_bystander"));
        let limit = expected.memory_limit.map(Limit::of);
        if matches!(limit, Some(None)) {
            skip("this user can set no memory limit", Mark::Superuser);
            return;
        }
        expected.assert(&format!("{name}, round {round}"), &once(&world, name, &expected, limit.flatten().as_ref()));
        nothing_is_left(&world, name);
    }
}

/// One run of a trap: its exit code, its report, and what was printed.
fn once(world: &World, name: &str, expected: &Expected, limit: Option<&Limit>) -> Sprung {
    let trap = world.copy(&folder().join(name), "trap");
    for shared in &expected.shared {
        std::fs::copy(folder().join(shared), trap.join(shared)).unwrap_or_else(|error| panic!("{shared}: {error}"));
    }
    let mut beside = Beside::start(world, &trap);
    let file = trap.join("trap.toml");
    let text = std::fs::read_to_string(&file).expect("an experiment");
    std::fs::write(&file, beside.fill(&text)).expect("an experiment");
    let before = files(&trap);
    let run = match limit {
        Some(limit) => {
            let enter = format!("echo $$ > {} && exec \"$@\"", limit.door().display());
            world.run(Path::new("/bin/sh")).args(["-c", &enter, "sh", env!("CARGO_BIN_EXE_bystander")])
        }
        None => world.bystander([]),
    };
    let ran = run.args(["run", "--json", "--why"]).cwd(&trap).args([&file]).run();
    beside.still_runs();
    if expected.undone {
        assert_eq!(traces(&before, &trap), Vec::<String>::new(), "{name} leaves a trace");
    }
    let report = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    let told = world.bystander(["show", "--why"]).cwd(&trap).run();
    Sprung { code: ran.code, report, talk: ran.stderr, told: told.stdout }
}

/// Every file of a trap but bytecode and the state of the command.
fn files(trap: &Path) -> Tree {
    let mut tree = Tree::of(trap, |path| !path.ends_with("__pycache__") && path != Path::new(".bystander"));
    tree.entries.retain(|path, _| trap.join(path).is_file());
    tree
}

/// What became of the files that a trap came with. What its program makes beside them is its own business.
fn traces(before: &Tree, trap: &Path) -> Vec<String> {
    let mut after = files(trap);
    after.entries.retain(|path, _| before.entries.contains_key(path));
    before.differences(&after)
}

/// What a trap gave.
struct Sprung {
    code: Option<i32>,
    report: Value,
    /// What was said while it ran.
    talk: String,
    /// What `show --why` prints of it.
    told: String,
}

fn nothing_is_left(world: &World, name: &str) {
    until(&format!("the end of every process of {name}"), LIMIT, || world.processes().is_empty());
    assert_eq!(world.rings(), Vec::<PathBuf>::new(), "{name}");
}
