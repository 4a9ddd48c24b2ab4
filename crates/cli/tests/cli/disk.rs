//! A disk that runs full while a run is recorded: the run stops, what was recorded stays readable, nothing is left, and the run goes on later.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bystander_testkit::{Mark, World, skip};
use serde_json::Value;

use crate::world::{assert_nothing_left, text, trials, world};

/// Mounts a small file system in a namespace of its own, runs the experiment until it is full, shows it, makes room, and goes on.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=3m tmpfs "$SMALL" || exit 99
if test -n "$INSIDE"; then mkdir "$SMALL"/case && cp text.txt case.toml "$SMALL"/case && cd "$SMALL"/case || exit 99; fi
"$COMMAND" run --json --state "$SMALL"/state case.toml > "$OUT"/first.out 2> "$OUT"/first.err; echo $? > "$OUT"/first.code
"$COMMAND" show --json --state "$SMALL"/state > "$OUT"/show.out 2> "$OUT"/show.err; echo $? > "$OUT"/show.code
cp text.txt "$OUT"/text.after
rm -f "$SMALL"/filler
mount -o remount,size=200m "$SMALL" || exit 99
"$COMMAND" run --json --state "$SMALL"/state case.toml > "$OUT"/second.out 2> "$OUT"/second.err; echo $? > "$OUT"/second.code
"#;

const TEXT: &str = "first\nmiddle\nlast\n";

/// What one of the commands of the script wrote.
fn told(world: &World, name: &str) -> (String, String, String) {
    let read = |extension: &str| fs::read_to_string(world.path(&format!("out/{name}.{extension}"))).expect("the script wrote it");
    (read("code").trim().to_owned(), read("out"), read("err"))
}

fn json(output: &str) -> Value {
    serde_json::from_str(output).unwrap_or_else(|error| panic!("not one JSON object ({error}): {output}"))
}

/// What lies on the small disk.
#[derive(PartialEq)]
enum Small {
    State,
    StateAndProgram,
}

/// Runs an experiment whose program does something once its print is in.
fn full_disk(small: &Small, then: &str) -> Option<World> {
    let world = world();
    let (unshare, namespace) = unshare()?;
    world.write("case/text.txt", TEXT);
    for folder in ["small", "out"] {
        fs::create_dir(world.path(folder)).expect("a folder");
    }
    let script = format!("cat text.txt; if grep -q added text.txt && ! test -e $OUT/once; then touch $OUT/once; {then}; fi");
    let experiment = format!(
        r#"
[program]
command = ["sh", "-c", {script:?}]
timeout = "60s"
grace = "1s"
[[edits]]
name = "print"
file = "text.txt"
find = "middle\n"
insert_after = "added\n"
[plan]
baseline = {{ instrument = "none" }}
blocks = 5
"#
    );
    world.write("case/case.toml", experiment);
    let command = world.run(&unshare).args(namespace).args(["sh", "-c", SCRIPT]).cwd(&world.path("case"));
    let inside = if *small == Small::StateAndProgram { "yes" } else { "" };
    let command = command.env("SMALL", world.path("small")).env("OUT", world.path("out")).env("INSIDE", inside);
    command.env("COMMAND", env!("CARGO_BIN_EXE_bystander")).run().exits(0);
    Some(world)
}

fn the_run_stopped_and_went_on(world: &World) {
    let (code, stopped, stderr) = told(world, "first");
    assert_eq!(code, "4", "{stderr}");
    let stopped = json(&stopped);
    assert!(stopped["error"].is_object() || stopped["status"] == "broken", "{stopped:#}");
    assert!(stderr.contains("what was recorded stays"), "{stderr}");
    let (code, shown, stderr) = told(world, "show");
    assert!(matches!(code.as_str(), "4" | "130"), "{code}: {stderr}");
    let shown = json(&shown);
    assert!(!trials(&shown).is_empty(), "{shown:#}");
    assert_eq!(fs::read_to_string(world.path("out/text.after")).expect("a copy"), TEXT, "the edit was taken back");
    let (code, second, stderr) = told(world, "second");
    assert_eq!(code, "0", "{second}\n{stderr}");
    let second = json(&second);
    assert_eq!((&second["run"], text(&second["status"])), (&shown["run"], "finished"), "the same run goes on");
    assert_eq!(second["restored"]["exact"], true, "{}", second["restored"]);
    assert_eq!(crate::world::verdict(&second, "instrument:print", "outcome"), "no_effect_seen");
    assert_nothing_left(world);
}

#[test]
fn a_program_whose_output_fills_the_disk_stops_the_run_which_goes_on_when_there_is_room() {
    let Some(world) = full_disk(&Small::State, "head -c 8000000 /dev/zero") else { return };
    the_run_stopped_and_went_on(&world);
}

#[test]
fn a_disk_that_is_full_to_the_last_byte_stops_the_run_and_the_edit_is_taken_back() {
    for small in [Small::State, Small::StateAndProgram] {
        let Some(world) = full_disk(&small, "cat /dev/zero > $SMALL/filler 2> $OUT/filled") else { return };
        assert!(fs::read_to_string(world.path("out/filled")).expect("an error").contains("No space left"), "the disk was not full");
        the_run_stopped_and_went_on(&world);
    }
}

/// Watches a program until the small disk is full, and shows what was recorded.
const WATCHED: &str = r#"
mount -t tmpfs -o size=3m tmpfs "$SMALL" || exit 99
"$COMMAND" watch --json --state "$SMALL"/state -p 'app:f {i}' --limit 1000000 -- python3 app.py > "$OUT"/first.out 2> "$OUT"/first.err; echo $? > "$OUT"/first.code
"$COMMAND" show --state "$SMALL"/state > "$OUT"/show.out 2> "$OUT"/show.err; echo $? > "$OUT"/show.code
"#;

#[test]
fn a_watch_whose_record_fills_the_disk_says_there_how_it_ended_and_what_is_missing() {
    let world = world();
    let Some((unshare, namespace)) = unshare() else { return };
    for folder in ["small", "out"] {
        fs::create_dir(world.path(folder)).expect("a folder");
    }
    world.write("app.py", "def f(i):\n    return i\n\nfor i in range(200_000):\n    f(i)\nraise SystemExit(7)\n");
    let command = world.run(&unshare).args(namespace).args(["sh", "-c", WATCHED]).cwd(&world.path("."));
    let command = command.env("SMALL", world.path("small")).env("OUT", world.path("out"));
    command.env("COMMAND", env!("CARGO_BIN_EXE_bystander")).run().exits(0);
    let (code, printed, stderr) = told(&world, "first");
    assert_eq!(code, "4", "{stderr}");
    assert_eq!(stderr.matches("neither recorded nor printed any more").count(), 1, "{stderr}");
    let summary = json(printed.lines().last().expect("a summary"));
    let summary = &summary["summary"];
    assert_eq!((&summary["status"], &summary["exit"], &summary["probes"][0]["hits"]), (&"ended".into(), &7.into(), &200_000.into()));
    let (_, shown, stderr) = told(&world, "show");
    let recorded = summary["hits"].as_u64().expect("a number");
    assert!(recorded < 200_000 && shown.matches(" i=").count() as u64 == recorded, "{recorded}: {stderr}");
    for said in ["ended with exit 7", "later hits were not recorded", "the disk is full", "200,000 hits in pid"] {
        // The screen breaks lines where they are full.
        let stderr = stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(stderr.contains(said), "{said}: {stderr}");
    }
}

/// Ways to a namespace with mounts of its own: as root, and as anybody where users may be root of a namespace.
const NAMESPACES: [&[&str]; 2] =
    [&["--mount", "--propagation", "private"], &["--user", "--map-root-user", "--mount", "--propagation", "private"]];

/// The program that makes namespaces, and the way that works for this user.
pub(crate) fn unshare() -> Option<(PathBuf, &'static [&'static str])> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("unshare")).find(|file| file.is_file());
    let works = |unshare: &PathBuf, namespace: &[&str]| {
        let tried = Command::new(unshare).args(namespace).args(["sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let allowed = found.and_then(|unshare| {
        let namespace = NAMESPACES.into_iter().find(|namespace| works(&unshare, namespace))?;
        Some((unshare, namespace))
    });
    if allowed.is_none() {
        skip("no small file system can be mounted here: unshare is missing, or this user may not mount", Mark::Machine);
    }
    allowed
}
