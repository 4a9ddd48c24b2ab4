//! Every trap of `crates/lab/tests/traps`: a small real program, an experiment on it, and the only right answer. Each must come out right three times
//! in a row where `BYSTANDER_TRAP_ROUNDS` does not say how often.

mod beside;
mod expected;
mod limit;
mod names;

use std::path::{Path, PathBuf};

use bystander_testkit::{LIMIT, Mark, World, python, skip, until};
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
        expected.assert(&format!("{name}, round {round}"), &once(&world, name, limit.flatten().as_ref()));
        nothing_is_left(&world, name);
    }
}

/// One run of a trap: its exit code, its report, and what was printed.
fn once(world: &World, name: &str, limit: Option<&Limit>) -> Sprung {
    let trap = world.copy(&folder().join(name), "trap");
    let beside = Beside::start(world, &trap);
    let file = trap.join("trap.toml");
    let text = std::fs::read_to_string(&file).expect("an experiment");
    std::fs::write(&file, beside.fill(&text)).expect("an experiment");
    let run = match limit {
        Some(limit) => {
            let enter = format!("echo $$ > {} && exec \"$@\"", limit.door().display());
            world.run(Path::new("/bin/sh")).args(["-c", &enter, "sh", env!("CARGO_BIN_EXE_bystander")])
        }
        None => world.bystander([]),
    };
    let ran = run.args(["run", "--json", "--why"]).cwd(&trap).args([&file]).run();
    let report = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    let told = world.bystander(["show", "--why"]).cwd(&trap).run();
    Sprung { code: ran.code, report, talk: ran.stderr, told: told.stdout }
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
