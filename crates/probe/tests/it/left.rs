//! Pythons that get out of the overlay's sight, however short they live, and archives that modules are loaded from at run time.

use bystander_model::hit::ReceiptState;
use bystander_probe::CheckedProbe;

use crate::world::{Run, World, on_each, probe};

const DEEP: &str = "def w(k):\n    return k + 1\n";

/// Starts `child.py` in the way that the first argument names and waits for it; says its pid.
const PARENT: &str = r#"
import os, subprocess, sys
how, flags = sys.argv[1], sys.argv[2].split()
line = [sys.executable] + flags + ["child.py"]
bare = {"PATH": os.environ["PATH"]}
def forked(become):
    pid = os.fork()
    if pid == 0:
        become()
    os.waitpid(pid, 0)
    return pid
def popen(**more):
    child = subprocess.Popen(line, **more)
    child.wait()
    return child.pid
def spawned(start, **more):
    pid = start(sys.executable, line, os.environ, **more)
    os.waitpid(pid, 0)
    return pid
ways = {
    "popen": popen,
    "bare": lambda: popen(env=bare),
    "preexec": lambda: popen(preexec_fn=lambda: None),
    "posix": lambda: popen(close_fds=False),
    "execv": lambda: forked(lambda: os.execv(sys.executable, line)),
    "execve": lambda: forked(lambda: os.execve(sys.executable, argv=line, env=bare)),
    "execvp": lambda: forked(lambda: os.execvp(sys.executable, line)),
    "spawn": lambda: spawned(os.posix_spawn),
    "spawnp": lambda: spawned(os.posix_spawnp, file_actions=[]),
}
print(ways[how]())
"#;

/// A child that comes to the probe's place at once and ends.
const CHILD: &str = "import sys\nsys.path.insert(0, '.')\nimport deep\ndeep.w(1)\n";

fn world(python: &crate::world::Python) -> (World, Vec<CheckedProbe>) {
    let world = World::new(python, &[("deep.py", DEEP), ("parent.py", PARENT), ("child.py", CHILD)]);
    let probes = world.checked(&[probe("deep:w", None, &["k"])]);
    (world, probes)
}

fn run(world: &World, probes: &[CheckedProbe], how: &str, flags: &str) -> (Run, u32) {
    let run = world.run(probes, &["parent.py", how, flags]);
    let pid = run.stdout().trim().parse().unwrap_or_else(|_| panic!("3.{} {how} {flags}: {}", world.python.minor, run.stderr()));
    (run, pid)
}

#[test]
fn a_python_that_options_or_an_environment_keep_out_is_uncovered_however_short_it_lives() {
    let cases = [
        ("popen", "-I", "-I hides"),
        ("popen", "-E", "-E hides"),
        ("popen", "-S", "-S keeps"),
        ("popen", "-W error -BIE", "-I hides"),
        ("popen", "-IS", "-S keeps"),
        ("bare", "-B", "does not name the overlay"),
        ("preexec", "-I", "-I hides"),
        ("posix", "-I", "-I hides"),
        ("execv", "-I", "-I hides"),
        ("execv", "-S", "-S keeps"),
        ("execve", "-B", "does not name the overlay"),
        ("execvp", "-E", "-E hides"),
        ("spawn", "-I", "-I hides"),
        ("spawnp", "-S", "-S keeps"),
    ];
    on_each(|python| {
        let (world, probes) = world(python);
        for (how, flags, reason) in cases {
            let (run, pid) = run(&world, &probes, how, flags);
            let told: Vec<_> = run.receipts.iter().filter(|receipt| receipt.pid == pid).collect();
            let told = match told.as_slice() {
                [told] => told,
                told => panic!("3.{} {how} {flags}: {told:?}", python.minor),
            };
            assert_eq!((told.state, told.hits), (ReceiptState::Uncovered, None), "3.{} {how} {flags}: {told:?}", python.minor);
            let detail = told.detail.as_deref().unwrap_or_default();
            assert!(detail.contains(reason) && detail.contains("child.py"), "3.{} {how} {flags}: {detail}", python.minor);
            let parent = run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::NotImported).count();
            assert_eq!((run.receipts.len(), parent), (2, 1), "3.{} {how} {flags}: {:?}", python.minor, run.receipts);
        }
    });
}

#[test]
fn a_child_that_loads_the_overlay_is_covered_whoever_starts_it() {
    on_each(|python| {
        let (world, probes) = world(python);
        for how in ["popen", "preexec", "posix", "execv", "execvp", "spawn", "spawnp"] {
            let (run, pid) = run(&world, &probes, how, "-B -X utf8");
            assert!(
                run.receipts.iter().all(|receipt| receipt.state != ReceiptState::Uncovered),
                "3.{} {how}: {:?}",
                python.minor,
                run.receipts
            );
            assert_eq!(run.hits.iter().map(|hit| hit.pid).collect::<Vec<_>>(), [pid], "3.{} {how}", python.minor);
        }
    });
}

#[test]
fn hits_before_a_process_leaves_are_kept_and_the_receipt_says_so() {
    let script = "import os, sys, deep\ndeep.w(1)\nos.execv(sys.executable, [sys.executable, '-I', 'child.py'])\n";
    on_each(|python| {
        let (world, probes) = world(python);
        world.write("leaves.py", script);
        let run = world.run(&probes, &["leaves.py"]);
        let told = &run.receipts[0];
        assert_eq!((run.hits.len(), run.receipts.len(), told.state, told.hits), (1, 1, ReceiptState::Armed, Some(1)), "{:?}", run.receipts);
        assert!(told.detail.as_deref().is_some_and(|detail| detail.contains("later uncovered") && detail.contains("-I hides")), "{told:?}");
    });
}

/// Every failure that a program sees of these calls; the overlay must not show in one of them.
const FAILURES: &str = r#"
import inspect, os, pickle, subprocess, sys, traceback, zipimport
nowhere = "/nowhere/python3"
def show(call):
    try:
        try:
            raise LookupError("around")
        except LookupError:
            call()
    except BaseException:
        print(traceback.format_exc())
for more in ({}, {"close_fds": False}, {"cwd": "/nowhere"}, {"env": {}}, {"preexec_fn": lambda: 1 / 0}):
    show(lambda: subprocess.Popen([nowhere, "-I", "x.py"], **more))
show(lambda: subprocess.Popen(["python3\0", "-I"]))
show(lambda: subprocess.run([sys.executable, "-I", "-c", "raise SystemExit(3)"], check=True))
show(lambda: os.execv(nowhere, [nowhere, "-I"]))
show(lambda: os.execv(nowhere))
show(lambda: os.execv())
show(lambda: os.execve(nowhere, [nowhere, "-S"], {1: 2}))
show(lambda: os.execvp("python3-nowhere", ["python3", "-I"]))
show(lambda: os.posix_spawn(nowhere, [nowhere, "-I"], os.environ))
show(lambda: os.posix_spawnp(nowhere, [], os.environ))
show(lambda: os.posix_spawn(nowhere, [nowhere], {}, wrong=1))
import zipfile
with zipfile.ZipFile("a.zip", "w") as archive:
    archive.writestr("broken.py", "def f(:\n")
    archive.writestr("fails.py", "1 / 0\n")
sys.path.insert(0, "a.zip")
show(lambda: __import__("broken"))
show(lambda: __import__("fails"))
show(lambda: zipimport.zipimporter("a.zip").get_code("absent"))
print(os.execv, os.execv.__name__, os.execv.__doc__, os.execv.__module__, os.execve, os.posix_spawn)
print(inspect.signature(os.execve), pickle.loads(pickle.dumps(os.execv)) is os.execv)
class Holder:
    become = os.execv
print(callable(Holder().become), Holder().become is os.execv)
"#;

#[test]
fn calls_that_fail_look_the_same_with_and_without() {
    on_each(|python| {
        let (world, probes) = world(python);
        world.write("failures.py", FAILURES);
        let plain = world.run_plain(&["failures.py"]);
        let run = world.run(&probes, &["failures.py"]);
        let known = String::from_utf8_lossy(&plain.stdout).into_owned();
        assert!(plain.status.success() && known.matches("Traceback").count() > 17, "{known}");
        for (plain, probed) in known.lines().zip(run.stdout().lines()) {
            assert_eq!(plain, probed, "3.{}: {}", python.minor, run.stderr());
        }
        assert_eq!(known.len(), run.stdout().len(), "3.{}: {}", python.minor, run.stderr());
        let uncovered = run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::Uncovered).count();
        // The one child that ran, and the one that failed between its fork and its program.
        assert!(
            uncovered <= 2 && run.receipts.iter().filter(|receipt| receipt.state == ReceiptState::NotImported).count() >= 1,
            "{:?}",
            run.receipts
        );
    });
}

#[test]
fn a_failure_keeps_nothing_of_the_program_alive() {
    let script = r#"
import gc, os
gc.disable()
class Dear:
    def __del__(self):
        print("gone")
def fails():
    dear = Dear()
    os.execv("/nowhere/python3", ["python3", "-I"])
try:
    fails()
except OSError:
    pass
print("after")
"#;
    on_each(|python| {
        let (world, probes) = world(python);
        world.write("dear.py", script);
        assert_eq!(world.run(&probes, &["dear.py"]).stdout(), "gone\nafter\n", "3.{}", python.minor);
    });
}

/// Loads modules from archives that are put on the path at run time.
const ZIPS: &str = r#"
import sys, zipfile
with zipfile.ZipFile("a.zip", "w") as archive:
    archive.writestr("src/deep.py", "def w(k):\n    return k\n")
    archive.writestr("src/other/__init__.py", "")
    archive.writestr("src/other/deep.py", "")
sys.path.insert(0, "a.zip/src")
import other.deep
if sys.argv[1] == "deep":
    import deep
    print(deep.w(1))
"#;

#[test]
fn a_module_from_an_archive_at_run_time_is_uncovered_and_one_of_the_same_file_name_is_not() {
    on_each(|python| {
        let (world, _) = world(python);
        world.write("zips.py", ZIPS);
        for place in ["deep:w", "deep.py:2"] {
            let probes = world.checked(&[probe(place, None, &["k"])]);
            let states = |which: &str| {
                let run = world.run(&probes, &["zips.py", which]);
                assert!(run.output.status.success(), "3.{}: {}", python.minor, run.stderr());
                (run.receipts.len(), run.receipts[0].clone())
            };
            let (count, told) = states("deep");
            assert_eq!((count, told.state, told.hits), (1, ReceiptState::Uncovered, None), "3.{} {place}", python.minor);
            assert_eq!(told.detail.as_deref(), Some("loaded from the archive a.zip"), "3.{}", python.minor);
            let (count, told) = states("other");
            assert_eq!((count, told.state, told.hits), (1, ReceiptState::NotImported, Some(0)), "3.{} {place}", python.minor);
        }
    });
}
