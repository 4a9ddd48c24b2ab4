//! Delivery: in every way a Python program can run, it behaves as without the overlay, and its hits arrive.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;

use bystander_model::hit::ReceiptState;
use bystander_probe::{CheckedProbe, ProbeSpec};

use crate::world::{Python, Run, World, on_each, probe};

const MAIN: &str = include_str!("programs/main.py");
const MOD: &str = include_str!("programs/mod.py");
const RAISING: &str = "x = 1\n\n\ndef unused():\n    y = 2\n    return y\n\n\nraise RuntimeError('at import')\n";

fn world(python: &Python) -> World {
    let files = [
        ("main.py", MAIN),
        ("pkg/__init__.py", ""),
        ("pkg/mod.py", MOD),
        ("pkg/raising.py", RAISING),
        ("broken.py", "def f(:\n    pass\n"),
        ("lone.py", "import pkg.other\nprint('lone')\n"),
        ("pkg/other.py", "VALUE = 1\n"),
    ];
    World::new(python, &files)
}

fn named(name: &str, at: &str, after: Option<&str>, capture: &[&str]) -> ProbeSpec {
    ProbeSpec { name: name.into(), ..probe(at, after, capture) }
}

fn specs() -> Vec<ProbeSpec> {
    vec![
        named("add", "pkg.mod:add", Some("result = ..."), &["number", "result", "LIMIT"]),
        named("worker", "main:worker", None, &["number"]),
        named("grow", "pkg.mod:Pool.grow", Some("for step in ...: ..."), &["total", "self.size", "step"]),
        named("choose", "pkg.mod:choose", Some("if flag: ..."), &["picked"]),
        named("fail", "pkg.mod:fail", Some("left = ..."), &["left"]),
        named("raising", "pkg.raising:unused", None, &[]),
    ]
}

/// What can be seen of a run from outside, addresses in memory left out.
fn seen(output: &Output) -> (Option<i32>, String, String) {
    use std::os::unix::process::ExitStatusExt;
    let text = |bytes: &[u8]| without_addresses(&String::from_utf8_lossy(bytes));
    (output.status.code().or(output.status.signal().map(|signal| -signal)), text(&output.stdout), text(&output.stderr))
}

fn without_addresses(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(" at 0x") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 6..];
        rest = &tail[tail.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(tail.len())..];
    }
    out + rest
}

/// Every bytecode file below a folder: its bytes, time, and inode.
fn bytecode(folder: &Path) -> BTreeMap<String, (Vec<u8>, i128, u64)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("lists").flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|end| end == "pyc") {
                let meta = entry.metadata().expect("reads");
                let time = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
                found.insert(path.display().to_string(), (std::fs::read(&path).expect("reads"), time, meta.ino()));
            }
        }
    }
    found
}

fn remove_bytecode(folder: &Path) {
    for path in bytecode(folder).into_keys() {
        std::fs::remove_file(path).expect("removes");
    }
}

fn is_probed(path: &str) -> bool {
    ["mod.", "main.", "raising."].iter().any(|name| path.contains(&format!("__pycache__/{name}")))
}

/// Runs arguments without and with the overlay and compares everything that can be seen; bytecode of the first run is there.
fn compare(world: &World, probes: &[CheckedProbe], arguments: &[&str]) -> Run {
    let minor = world.python.minor;
    remove_bytecode(&world.program());
    let plain = world.run_plain(arguments);
    let before = bytecode(&world.program());
    let run = world.run(probes, arguments);
    assert_eq!(seen(&run.output), seen(&plain), "3.{minor} {arguments:?}");
    assert_eq!(bytecode(&world.program()), before, "3.{minor} {arguments:?}: bytecode was touched");
    run
}

fn hits(run: &Run, name: &str) -> usize {
    run.hits.iter().filter(|hit| hit.probe == name).count()
}

#[test]
fn a_fresh_tree_gets_the_bytecode_of_unprobed_files_only() {
    on_each(|python| {
        let world = world(python);
        let probes = world.checked(&specs());
        for arguments in [&["main.py"][..], &["-c", "import main, lone"]] {
            remove_bytecode(&world.program());
            world.run_plain(arguments);
            let mut expected: BTreeMap<_, _> = bytecode(&world.program()).into_iter().map(|(path, (bytes, ..))| (path, bytes)).collect();
            expected.retain(|path, _| !is_probed(path));
            remove_bytecode(&world.program());
            world.run(&probes, arguments);
            let found: BTreeMap<_, _> = bytecode(&world.program()).into_iter().map(|(path, (bytes, ..))| (path, bytes)).collect();
            assert_eq!(found, expected, "3.{} {arguments:?}", python.minor);
        }
    });
}

#[test]
fn scripts_modules_and_commands_behave_as_without_the_overlay() {
    // Arguments, then the hits of `add` and `worker` that must arrive.
    let cases: &[(&[&str], usize, usize)] = &[
        (&["main.py"], 2, 1),
        (&["./main.py", "plain", "x"], 2, 1),
        (&["-u", "-Xdev", "main.py"], 2, 1),
        (&["-m", "main"], 2, 1),
        (&["-c", "import main; main.plain()"], 2, 1),
        (&["-O", "-c", "from pkg import mod; mod.add(1)"], 1, 0),
        (&["main.py", "child"], 1, 0),
        (&["main.py", "forked"], 3, 3),
        (&["main.py", "source"], 0, 0),
        (&["main.py", "reload"], 1, 0),
        (&["main.py", "rerun"], 2, 1),
        (&["main.py", "execute"], 1, 0),
        (&["main.py", "flags"], 0, 0),
        (&["main.py", "trace"], 1, 1),
        (&["main.py", "state"], 1, 1),
        (&["-c", "import main; main.state()"], 1, 1),
        (&["main.py", "leave"], 1, 1),
        (&["lone.py"], 0, 0),
    ];
    on_each(|python| {
        let world = world(python);
        let probes = world.checked(&specs());
        for (arguments, add, worker) in cases {
            let run = compare(&world, &probes, arguments);
            assert_eq!((hits(&run, "add"), hits(&run, "worker")), (*add, *worker), "3.{} {arguments:?}", python.minor);
        }
    });
}

#[test]
fn tracebacks_and_ends_are_those_without_the_overlay() {
    on_each(|python| {
        let world = world(python);
        let probes = world.checked(&specs());
        for mode in ["traceback", "caught", "bad_import", "bad_import_of_probed", "interrupt"] {
            let run = compare(&world, &probes, &["main.py", mode]);
            assert!(run.stderr().contains("Traceback"), "3.{} {mode}: {}", python.minor, run.stderr());
            compare(&world, &probes, &["-c", &format!("import main; main.{mode}()")]);
        }
        let run = compare(&world, &probes, &["main.py", "traceback"]);
        assert_eq!(hits(&run, "fail"), 3);
    });
}

#[test]
fn every_start_method_of_multiprocessing_is_covered() {
    on_each(|python| {
        let world = world(python);
        let probes = world.checked(&specs());
        for method in ["fork", "spawn", "forkserver"] {
            let run = compare(&world, &probes, &["main.py", method]);
            assert_eq!((hits(&run, "add"), hits(&run, "worker")), (3, 3), "3.{} {method}", python.minor);
            let placed = run.receipts.iter().filter(|receipt| receipt.probe == "worker" && receipt.state == ReceiptState::Armed);
            assert!((1..=2).contains(&placed.count()), "3.{} {method}: {:?}", python.minor, run.receipts);
        }
    });
}
