//! Instruments in private mounts: the program sees them, the disk never does, and what takes them away voids the trial.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bystander_testkit::{LIMIT, Mark, Python, Signal, World, kill, pythons, skip, until};
use serde_json::Value;

use crate::world::{assert_bytecode_of, assert_nothing_left, run, text, tree, trials_with, world};

const TEXT: &str = "first\nmiddle\nlast\n";

/// A world with a text file and an experiment on it: what the program prints is the number of lines that it sees.
fn lines_world(script: &str) -> World {
    let world = world();
    let file = world.write("case/text.txt", TEXT);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("own file");
    let experiment = format!(
        r#"
[program]
command = ["sh", "-c", {script:?}]
timeout = "60s"
grace = "1s"
[[edits]]
name = "line"
file = "text.txt"
find = "middle\n"
insert_after = "added\n"
delivery = "mount"
[metrics]
lines = {{ log = '(\d+) lines' }}
mode = {{ log = 'mode (\d+)' }}
[plan]
baseline = {{ instrument = "none" }}
instruments = ["none", "line"]
blocks = 1
describe = true
"#
    );
    world.write("case/case.toml", experiment);
    world
}

const COUNTS: &str = "echo $(wc -l <text.txt) lines; echo mode $(stat -c %a text.txt)";

fn metric(trial: &Value, name: &str) -> f64 {
    trial["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {trial:#}"))
}

#[test]
fn an_edit_by_mount_is_seen_by_its_program_and_by_nobody_else() {
    let world = lines_world(&format!("{COUNTS}; touch $HOME/up; while ! test -e $HOME/go; do sleep 0.01; done"));
    let before = tree(&world.path("case"));
    let running = world.bystander(["run", "--json"]).args([world.path("case/case.toml")]).start();
    until("the program to be up", LIMIT, || world.path("home/up").exists());
    assert_eq!(world.registered(), Vec::<std::path::PathBuf>::new(), "nothing is on disk, so nothing is registered");
    assert_eq!(fs::read_to_string(world.path("case/text.txt")).expect("reads"), TEXT);
    fs::write(world.path("home/go"), "").expect("own folder");
    let report = running.wait().exits(0).json();
    for (level, lines) in [("none", 3.0), ("line", 4.0)] {
        let trial = trials_with(&report, level).next().expect("ran");
        assert_eq!((metric(trial, "lines"), metric(trial, "mode"), text(&trial["outcome"])), (lines, 640.0, "completed"), "{trial:#}");
    }
    let after = tree(&world.path("case"));
    assert_eq!(before.differences(&after), Vec::<String>::new());
    assert_nothing_left(&world);
}

#[test]
fn an_unprivileged_user_can_mount_over_a_file_that_only_root_may_write() {
    if !rustix_is_root() {
        return skip("only a superuser can become another user", Mark::Superuser);
    }
    let world = lines_world("echo $(wc -l <text.txt) lines; id -u");
    let target = world.path("case/text.txt");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).expect("own file");
    for name in ["", "case", "home", "tmp"] {
        let _ = fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o755));
    }
    world.run(Path::new("/bin/chown")).args(["-R", "65534:65534"]).args([world.path("home"), world.path("tmp")]).run().exits(0);
    let before = fs::metadata(&target).expect("is there");
    let state = world.path("home/state");
    let words = ["--reuid", "65534", "--regid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_bystander"), "run", "--json", "--state"];
    let ran = world.run(Path::new("/usr/bin/setpriv")).args(words).args([state, world.path("case/case.toml")]).run().exits(0);
    let report = ran.json();
    let trial = trials_with(&report, "line").next().expect("ran");
    assert!((metric(trial, "lines") - 4.0).abs() < 0.5, "{trial:#}");
    let after = fs::metadata(&target).expect("is there");
    assert_eq!(
        (before.ino(), before.mtime_nsec(), before.ctime_nsec(), before.uid()),
        (after.ino(), after.mtime_nsec(), after.ctime_nsec(), 0)
    );
    assert_eq!(fs::read_to_string(&target).expect("reads"), TEXT);
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn a_rename_over_the_file_from_outside_voids_the_trial() {
    let world = lines_world("if test $(wc -l <text.txt) = 4; then touch $HOME/up.$$; while :; do sleep 0.05; done; fi; echo 3 lines");
    let mut running = world.bystander(["run", "--json"]).args([world.path("case/case.toml")]).start();
    let mut seen = Vec::new();
    until("the run to end", LIMIT, || {
        for entry in fs::read_dir(world.path("home")).expect("lists").flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("up.") && !seen.contains(&name) {
                seen.push(name);
                world.write("case/new", TEXT);
                fs::rename(world.path("case/new"), world.path("case/text.txt")).expect("own files");
            }
        }
        running.has_ended()
    });
    let ran = running.wait();
    let report = ran.json();
    let voids: Vec<&Value> = trials_with(&report, "line").filter(|trial| trial["outcome"] == "void").collect();
    assert_eq!(voids.len(), 3, "{report:#}");
    assert!(voids.iter().all(|trial| text(&trial["cause"]).contains("instrument.detached")), "{:#}", voids[0]);
    assert_nothing_left(&world);
}

#[test]
fn a_kill_of_everything_leaves_nothing_of_a_mount() {
    let world = lines_world("touch $HOME/up; if test $(wc -l <text.txt) = 4; then touch $HOME/edited; sleep 600; fi; echo 3 lines");
    let before = tree(&world.path("case"));
    let mut running = world.bystander(["run", "--json"]).args([world.path("case/case.toml")]).start();
    until("the edited program to be up", LIMIT, || world.path("home/edited").exists());
    let keepers: Vec<u32> =
        world.processes().iter().filter(|process| process.command.contains("bystander-keeper")).map(|process| process.pid).collect();
    keepers.iter().for_each(|pid| kill(*pid, Signal::KILL));
    running.signal(Signal::KILL);
    let _ = running.wait();
    until("everything to be gone", LIMIT, || world.processes().is_empty());
    let after = tree(&world.path("case"));
    assert_eq!(before.differences(&after), Vec::<String>::new());
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("reads");
    assert!(!mounts.contains(&world.path("case").display().to_string()), "{mounts}");
}

/// An experiment on a Python program with a package, whose child is started with the same flags.
fn python_world(python: &Python, flags: &[&str], instrument: &str) -> World {
    let world = world();
    world.write("case/pkg/__init__.py", "");
    world.write("case/pkg/mod.py", "def f(n):\n    m = n * 2\n    return m\n");
    let child = "import sys; sys.path.insert(0, '.'); from pkg import mod; print('child', mod.f(2))";
    let main = format!(
        "import subprocess, sys\nsys.path.insert(0, '.')\nfrom pkg import mod\nprint('main', mod.f(1), flush=True)\nsubprocess.run([sys.executable] + sys.argv[1:] + ['-c', {child:?}], check=True)\n"
    );
    world.write("case/main.py", main);
    let words: Vec<String> = [python.path.display().to_string()]
        .into_iter()
        .chain(flags.iter().map(ToString::to_string))
        .chain(["main.py".into()])
        .chain(flags.iter().map(ToString::to_string))
        .collect();
    let experiment = format!(
        "[program]\ncommand = {words:?}\ntimeout = \"60s\"\n{instrument}\n[metrics]\nmain = {{ log = 'main (\\d+)' }}\nchild = {{ log = 'child (\\d+)' }}\n[plan]\nbaseline = {{ instrument = \"none\" }}\nblocks = 1\ndescribe = true\n"
    );
    world.write("case/case.toml", experiment);
    world
}

const PROBE: &str = "[[probes]]\nname = \"p\"\nat = \"pkg/mod.py:3\"\ncapture = [\"m\"]";
const EDIT: &str = "[[edits]]\nname = \"p\"\nfile = \"pkg/mod.py\"\nfind = \"n * 2\"\nreplace = \"n * 3\"\ndelivery = \"mount\"";

/// Runs a program with a probe under flags and gives, by process, the state and hits of its receipts.
fn receipts(python: &Python, flags: &[&str], probe: &str) -> (World, Vec<(String, Option<u64>)>) {
    let world = python_world(python, flags, probe);
    let report = run(&world, &world.path("case/case.toml")).run().exits(0).json();
    let trial = trials_with(&report, "p").next().expect("ran");
    assert_eq!((metric(trial, "main"), metric(trial, "child")), (2.0, 4.0), "{trial:#}");
    let of = |receipt: &Value| (text(&receipt["state"]).to_owned(), receipt["hits"].as_u64());
    let mut found: Vec<_> = trial["receipts"].as_array().expect("receipts").iter().map(of).collect();
    found.sort();
    assert_nothing_left(&world);
    (world, found)
}

/// Python children with these flags are covered; on every Python.
fn covered(flags: &[&str], delivery: &str) {
    for python in pythons() {
        let (world, found) = receipts(python, flags, &format!("{PROBE}\n{delivery}"));
        let armed = ("armed".to_owned(), Some(1));
        assert_eq!(found, [armed.clone(), armed], "{} {flags:?}", python.path.display());
        let left: Vec<_> = fs::read_dir(world.path("case/pkg")).expect("lists").flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| ["__init__.py", "mod.py", "__pycache__"].iter().any(|known| name == known)), "{left:?}");
    }
}

#[test]
fn processes_that_hide_the_environment_are_covered_by_a_private_pth() {
    covered(&["-I"], "");
    covered(&["-E"], "");
}

#[test]
fn processes_without_site_are_covered_by_a_statement_in_a_private_copy() {
    covered(&["-S"], "");
    covered(&["-I", "-S"], "");
}

#[test]
fn a_mount_that_was_asked_for_serves_ordinary_programs_too() {
    covered(&[], "delivery = \"mount\"");
}

#[test]
fn a_patch_that_was_asked_for_is_on_disk_for_its_trial_only() {
    covered(&["-S"], "delivery = \"patch\"");
}

#[test]
fn an_overlay_that_was_asked_for_says_which_flag_hid_the_process() {
    for python in pythons() {
        let world = python_world(python, &["-S"], &format!("{PROBE}\ndelivery = \"overlay\""));
        // That a probe reached nobody is no answer to what it was put in for: the command says so by its exit code.
        let report = run(&world, &world.path("case/case.toml")).run().json();
        let trial = trials_with(&report, "p").next().expect("ran");
        let uncovered: Vec<&Value> = trial["receipts"].as_array().expect("receipts").iter().collect();
        assert!(!uncovered.is_empty() && uncovered.iter().all(|receipt| receipt["state"] == "uncovered"), "{trial:#}");
        assert!(uncovered.iter().any(|receipt| text(&receipt["detail"]).contains("-S keeps `site`")), "{trial:#}");
    }
}

#[test]
fn modules_from_an_archive_are_reported_as_uncovered() {
    for python in pythons() {
        let world = python_world(python, &[], PROBE);
        let archive = "import sys, zipfile\nwith zipfile.ZipFile('app.pyz', 'w') as file:\n    for name in ('pkg/__init__.py', 'pkg/mod.py'): file.write(name)\n    file.writestr('__main__.py', 'from pkg import mod; print(\"main\", mod.f(1)); print(\"child\", mod.f(2))')\n";
        world.run(&python.path).args(["-c", archive]).cwd(&world.path("case")).run().exits(0);
        let file = fs::read_to_string(world.path("case/case.toml")).expect("reads");
        world.write("case/case.toml", file.replacen("main.py", "app.pyz", 1));
        let report = run(&world, &world.path("case/case.toml")).run().json();
        let trial = trials_with(&report, "p").next().expect("ran");
        let receipt = &trial["receipts"][0];
        assert_eq!((metric(trial, "main"), text(&receipt["state"])), (2.0, "uncovered"), "{trial:#}");
        assert!(text(&receipt["detail"]).contains("the archive"), "{receipt:#}");
    }
}

/// The oldest and the newest Python: what bytecode does is the same in between.
fn ends() -> Vec<&'static Python> {
    let all = pythons();
    let mut ends: Vec<_> = all.first().into_iter().chain(all.last()).copied().collect();
    ends.dedup_by_key(|python| python.version);
    ends
}

#[test]
fn an_edit_by_mount_poisons_no_bytecode() {
    for python in ends() {
        // The two flags hide the variable that would keep bytecode off the disk.
        for (flags, has_bytecode) in [(&[][..], false), (&[], true), (&["-I"], false), (&["-E", "-S"], true)] {
            let world = python_world(python, flags, EDIT);
            if has_bytecode {
                world.run(&python.path).args(["-m", "compileall", "-q", "pkg"]).cwd(&world.path("case")).run().exits(0);
            }
            let before = tree(&world.path("case/pkg"));
            let report = run(&world, &world.path("case/case.toml")).run().exits(0).json();
            let of =
                |level: &str| trials_with(&report, level).map(|trial| (metric(trial, "main"), metric(trial, "child"))).next().expect("ran");
            assert_eq!((of("none"), of("p")), ((2.0, 4.0), (3.0, 6.0)), "{} {flags:?}", python.path.display());
            if has_bytecode {
                assert_eq!(before.differences(&tree(&world.path("case/pkg"))), Vec::<String>::new(), "{flags:?}");
            }
            assert_bytecode_of(python, &world, &world.path("case/pkg"));
            // Whoever comes later runs what stands in the file.
            let later =
                world.run(&python.path).args(["-c", "from pkg import mod; print(mod.f(1))"]).cwd(&world.path("case")).run().exits(0);
            assert_eq!(later.stdout.trim(), "2", "{} {flags:?}", python.path.display());
            assert_nothing_left(&world);
        }
    }
}
