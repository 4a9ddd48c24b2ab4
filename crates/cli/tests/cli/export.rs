//! A run as one file: another machine shows the same from it, nothing secret is in it, and no other file is taken for one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use bystander_testkit::{Signal, World, until};
use serde_json::Value;

use crate::fast::{Fast, assert_answers};
use crate::traffic;
use crate::world::{LIMIT, python_world, run, text, trials, world};

/// `bystander export` of the newest run of a folder, to a file in the world.
pub(crate) fn export(world: &World, folder: &Path, name: &str) -> (PathBuf, Value) {
    let to = world.path(name);
    let manifest = world.bystander(["export", "--json", "-o"]).args([&to]).cwd(folder).run().exits(0).json();
    (to, manifest)
}

/// Every member of an archive with its content, read without the product.
pub(crate) fn contents(archive: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut tar = tar::Archive::new(zstd::Decoder::new(fs::File::open(archive).expect("a file")).expect("zstd"));
    let mut found = BTreeMap::new();
    for entry in tar.entries().expect("members") {
        let (mut entry, mut bytes) = (entry.expect("a member"), Vec::new());
        entry.read_to_end(&mut bytes).expect("its content");
        found.insert(entry.path().expect("a name").to_string_lossy().into_owned(), bytes);
    }
    found
}

/// The names of the members below the folder of the run.
fn names(archive: &Path) -> Vec<String> {
    contents(archive).into_keys().filter_map(|name| Some(name.split_once('/')?.1.to_owned())).collect()
}

fn left_out(manifest: &Value) -> Vec<&str> {
    manifest["left_out"].as_array().expect("a list").iter().map(text).collect()
}

#[test]
fn another_machine_shows_the_same_text_and_json_from_the_file_alone() {
    let Some(fast) = Fast::new() else { return };
    let report = fast.run().run().exits(0).json();
    let id = text(&report["run"]);
    let (archive, manifest) = export(&fast.world, &fast.folder, "run.tar.zst");
    assert_eq!((text(&manifest["run"]), manifest["format"].as_u64()), (id, Some(1)));
    let views = [
        &["show"][..],
        &["show", "--json"],
        &["show", "--why"],
        &["show", "--why", "factor:mode"],
        &["show", "--json", "--why"],
        &["show", "--diff", "1", "4"],
        &["show", "--json", "--diff", "1", "4"],
    ];
    let printed = |world: &World, args: &[&str], run: &Path, cwd: &Path| {
        // `--why` and `--diff` take words of their own, so the run stands before them.
        let ran = world.bystander([args[0]]).args([run]).args(&args[1..]).cwd(cwd).run().exits(0);
        ran.stdout
    };
    let here: Vec<String> = views.iter().map(|args| printed(&fast.world, args, Path::new(id), &fast.folder)).collect();
    let other = world();
    let copy = other.path("from-elsewhere.tar.zst");
    fs::copy(&archive, &copy).expect("copied");
    drop(fast);
    for (args, here) in views.iter().zip(&here) {
        let there = printed(&other, args, &copy, &other.path(""));
        // Only the run has another name, and its logs another place; so lines are broken elsewhere.
        let same = here
            .replace(&format!("\"runs/{id}/trial-"), "\"logs/trial-")
            .replace(&format!(" runs/{id}/trial-"), " logs/trial-")
            .replace(&format!("bystander show {id}"), &format!("bystander show {}", copy.display()));
        let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(folded(&there), folded(&same).replace("in the state directory", "in the archive"), "{args:?}");
    }
    assert_answers(&other.bystander(["show", "--json"]).args([&copy]).run().exits(0).json());
    assert!(!other.path(".bystander").exists() && !other.path("home/.local/state/bystander").exists(), "nothing was unpacked");
    let logs = names(&copy);
    for trial in trials(&report) {
        let stdout = text(&trial["output"]["stdout"]).replace(&format!("runs/{id}/"), "logs/");
        assert!(logs.contains(&stdout), "{stdout} is not in {logs:#?}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_and_a_file_that_is_there_stays() {
    let Some(fast) = Fast::new() else { return };
    let _ = fast.run().run().exits(0);
    let (first, _) = export(&fast.world, &fast.folder, "a.tar.zst");
    let (second, _) = export(&fast.world, &fast.folder, "b.tar.zst");
    let bytes = fs::read(&first).expect("a file");
    assert_eq!(bytes, fs::read(second).expect("a file"));
    let again = fast.world.bystander(["export", "-o"]).args([&first]).cwd(&fast.folder).run().exits(3);
    let _ = again.says(&["there is a file of that name already", "name another file with -o"]);
    assert_eq!(fs::read(&first).expect("a file"), bytes);
    // Without a name it is called after the run, and says how it is opened.
    let ran = fast.world.bystander(["export"]).cwd(&fast.folder).run().exits(0);
    let opened = ran.stdout.lines().find_map(|line| line.strip_prefix("open it with: bystander show ")).expect("a hint");
    let _ = fast.world.bystander(["show", opened]).cwd(&fast.folder).run().exits(0);
    let spaced = fast.world.path("a b.tar.zst");
    let ran = fast.world.bystander(["export", "-o"]).args([&spaced]).cwd(&fast.folder).run().exits(0);
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix("open it with: bystander ")).expect("how to open it").to_owned();
    assert_eq!(line, format!("show '{}'", spaced.display()), "as a shell takes it");
    let nowhere = fast.world.path("no/where/x.tar.zst");
    let ran = fast.world.bystander(["export", "-o"]).args([&nowhere]).cwd(&fast.folder).run().exits(3);
    ran.says(&["no/where: there is no such folder", "make the folder first"]);
    fast.world.bystander(["export", opened]).cwd(&fast.folder).run().exits(3).says(&["it is an archive already"]);
}

/// A program that leaves things of its own in the folder of its trial, among them links that are named like files of ours.
const UNTIDY: &str = r#"
import os, sys
trial = sys.argv[1]
open(os.path.join(trial, "notes.txt"), "w").write("private")
os.symlink("/etc/passwd", os.path.join(trial, "stacks"))
os.mkfifo(os.path.join(trial, "prepare-9.stdout"))
os.mkdir(os.path.join(trial, "traffic"))
open(os.path.join(trial, "traffic", "ttft.hdr"), "w").write("histogram")
open(os.path.join(trial, "traffic", "load.json"), "w").write("private")
print("ready", flush=True)
import signal
signal.pause()
"#;

#[test]
fn output_of_hooks_workloads_and_traffic_is_packed_and_what_programs_leave_is_not() {
    let Some(world) = python_world() else { return };
    world.write("case/app.py", UNTIDY);
    let file = world.write(
        "case/case.toml",
        "[program]\ncommand = ['python3', 'app.py', '{trial}']\nready = { log = 'ready' }\ngrace = '1s'\n\
         [workload]\ncommand = ['sh', '-c', 'echo served; echo slow >&2']\n\
         [hooks]\nsetup = ['echo', 'set up']\nprepare = ['echo', 'prepared']\ncleanup = ['echo', 'cleaned']\n\
         [plan]\nblocks = 1\ndescribe = true\n",
    );
    let _ = run(&world, &file).run().exits(0);
    let (archive, manifest) = export(&world, &world.path("case"), "run.tar.zst");
    let contents = contents(&archive);
    let content = |name: &str| {
        let found = contents.iter().find(|(path, _)| path.ends_with(&format!("/logs/{name}")));
        String::from_utf8_lossy(found.unwrap_or_else(|| panic!("{name} is not in {:#?}", contents.keys())).1).into_owned()
    };
    for (name, said) in [
        ("setup-1.stdout", "set up\n"),
        ("cleanup-1.stdout", "cleaned\n"),
        ("trial-1/prepare-1.stdout", "prepared\n"),
        ("trial-1/stdout", "ready\n"),
        ("trial-1/workload", "served\n"),
        ("trial-1/workload_stderr", "slow\n"),
        ("trial-1/traffic/ttft.hdr", "histogram"),
    ] {
        assert_eq!(content(name), said, "{name}");
    }
    for (name, bytes) in &contents {
        for private in ["private", "root:"] {
            assert!(!String::from_utf8_lossy(bytes).contains(private), "{private} is in {name}");
        }
    }
    assert!(left_out(&manifest).iter().any(|what| what.starts_with("4 files in the folders of the run")), "{manifest:#}");
    let _ = world.bystander(["show"]).args([&archive]).run().exits(0);
}

#[test]
fn real_traffic_and_stacks_are_shown_elsewhere_without_the_key_that_was_used() {
    let Some(world) = python_world() else { return };
    let file = traffic::experiment(&world, &["good", "stuck"], "api_key_env = \"SERVE_ACCESS\"");
    let limits = "stall = \"1500ms\"\ngrace = \"1s\"\n[factors.kind]";
    let short = fs::read_to_string(&file).expect("the file").replace("timeout = \"60s\"", "timeout = \"5s\"");
    let with_limits = short.replace("[factors.kind]", limits);
    fs::write(&file, with_limits).expect("the file");
    let report = run(&world, &file).env("SERVE_ACCESS", "kept-out-of-it").run().json();
    let (good, stuck) = (traffic::of_level(&report, "good").clone(), traffic::of_level(&report, "stuck").clone());
    assert_eq!(good["outcome"], "completed", "{good:#}");
    assert!(stuck["output"]["stacks"].is_string(), "nobody was served, so that the stacks were taken: {stuck:#}");
    let (archive, _) = export(&world, file.parent().expect("a folder"), "run.tar.zst");
    let elsewhere = bystander_testkit::World::new(env!("CARGO_BIN_EXE_bystander"));
    let copy = elsewhere.path("from-elsewhere.tar.zst");
    fs::copy(&archive, &copy).expect("copied");
    drop(world);
    let show = |more: &[&str]| elsewhere.bystander(["show"]).args([&copy]).args(more).cwd(&elsewhere.path("")).run();
    let there = show(&["--json"]).json();
    for (level, here) in [("good", &good), ("stuck", &stuck)] {
        let there = traffic::of_level(&there, level);
        for key in ["outcome", "cause", "traffic", "engine", "metrics", "samples"] {
            assert_eq!(there[key], here[key], "{key} of {level}");
        }
    }
    let shown = show(&["--why"]).stdout;
    assert!(shown.contains("12 requests, 3 at a time; 0 failed"), "{shown}");
    let all = contents(&copy);
    let member = |end: &str| all.iter().find(|(name, _)| name.ends_with(end)).map(|(_, bytes)| bytes).unwrap_or_else(|| panic!("{end}"));
    let stacks = String::from_utf8_lossy(member(&format!("trial-{}/stacks", stuck["id"]))).into_owned();
    assert!(stacks.contains("do_POST"), "{stacks}");
    for name in ["ttft.hdr", "summary.json"] {
        assert!(!member(&format!("trial-{}/traffic/{name}", good["id"])).is_empty(), "{name}");
    }
    for (name, bytes) in &all {
        assert!(!bytes.windows(14).any(|window| window == b"kept-out-of-it"), "{name}");
    }
    let environment = String::from_utf8_lossy(member("environment.json")).into_owned();
    let value = environment.lines().find(|line| line.contains("\"SERVE_ACCESS\"")).expect("the variable");
    assert!(value.contains("<hidden:"), "{value}");
}

#[test]
fn a_log_that_was_changed_or_is_gone_is_told_and_the_rest_is_packed() {
    let Some(fast) = Fast::new() else { return };
    let report = fast.run().run().exits(0).json();
    let log = |trial: usize| fast.folder.join(".bystander").join(text(&trials(&report)[trial]["output"]["stdout"]));
    fs::write(log(0), "another text").expect("written");
    fs::remove_file(log(1)).expect("removed");
    fs::remove_file(log(2)).expect("removed");
    symlink(log(3), log(2)).expect("linked");
    let (archive, manifest) = export(&fast.world, &fast.folder, "run.tar.zst");
    let left = left_out(&manifest);
    let told = |part: &str| left.iter().any(|what| what.contains(part));
    assert!(told("logs/trial-1/stdout: its file was changed since it was recorded"), "{left:#?}");
    assert!(told("trial-2/stdout: its file is gone") && told("trial-3/stdout: its file is gone"), "{left:#?}");
    let packed = names(&archive);
    for (name, there) in
        [("logs/trial-1/stdout", false), ("logs/trial-2/stdout", false), ("logs/trial-3/stdout", false), ("logs/trial-4/stdout", true)]
    {
        assert_eq!(packed.contains(&name.to_owned()), there, "{name}");
    }
    assert_answers(&fast.world.bystander(["show", "--json"]).args([&archive]).run().exits(0).json());
}

#[test]
fn a_live_run_is_not_exported_and_a_killed_one_is_shown_as_killed() {
    let Some(fast) = Fast::new() else { return };
    let mut running = fast.after_trials(2);
    fast.world.bystander(["export"]).cwd(&fast.folder).run().exits(3).says(&["it is running", "wait until it ends"]);
    running.signal(Signal::KILL);
    let _ = running.wait();
    fast.until_quiet();
    let (archive, manifest) = export(&fast.world, &fast.folder, "killed.tar.zst");
    assert_eq!(text(&manifest["status"]), "running", "that is its last event");
    let shown = fast.world.bystander(["show", "--json"]).args([&archive]).run().exits(130).json();
    assert_eq!(shown["status"], "interrupted");
    assert_eq!(shown["answers"], fast.show().run().exits(130).json()["answers"]);
}

#[test]
fn a_watched_command_is_exported_and_shown_elsewhere() {
    let Some(world) = python_world() else { return };
    world.write("case/app.py", "def work(n):\n    return n\nfor n in range(3):\n    work(n)\n");
    let folder = world.path("case");
    let _ = world.bystander(["watch", "--json", "-p", "app.py:2 {n}", "--", "python3", "app.py"]).cwd(&folder).run().exits(0);
    let here = world.bystander(["show", "--json"]).cwd(&folder).run();
    let (archive, manifest) = export(&world, &folder, "watched.tar.zst");
    assert_eq!(text(&manifest["spec_sha256"]), "");
    let there = crate::world::world();
    let shown = there.bystander(["show", "--json"]).args([&archive]).run();
    assert_eq!(shown.exits(0).stdout, here.exits(0).stdout);
}

#[test]
fn what_is_no_archive_is_refused_by_name() {
    let world = world();
    for (name, bytes, why) in [
        ("empty.tar.zst", &b""[..], "damaged, or no archive of a run"),
        ("notes.tar.zst", b"hello\n", "damaged, or no archive of a run"),
        ("archive.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0, 0], "damaged, or no archive of a run"),
    ] {
        let file = world.write(name, bytes);
        for args in [&["show"][..], &["show", "--json"]] {
            let ran = world.bystander(args.iter().copied()).args([&file]).run().exits(3);
            let said = ran.stdout + &ran.stderr;
            assert!(said.contains(name) && said.contains(why) && !said.contains("panicked"), "{said}");
        }
    }
    let ran = world.bystander(["show", "gone.tar.zst"]).run().exits(3);
    assert!(ran.stderr.contains("gone.tar.zst") && ran.stderr.contains("No such file"), "{}", ran.stderr);
    until("nothing is left", LIMIT, || world.processes().is_empty());
}
