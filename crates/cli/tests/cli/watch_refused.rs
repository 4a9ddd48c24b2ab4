//! What `bystander watch` refuses: nothing is launched, nothing is written, and the place of the fault and the way out are said.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bystander_testkit::{Ran, World, old_python};

use crate::world::{assert_nothing_left, python_world};

const APP: &str = "open('ran', 'w').close()\ndef work(n):\n    total = n\n    return total\nwork(1)\n";

fn refused(world: &World, args: &[&str]) -> Ran {
    let ran = world.bystander(["watch"]).args(args).run();
    assert!(!world.path("ran").exists(), "the program ran: {}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "{}", ran.stderr);
    ran
}

#[test]
fn a_probe_that_does_not_parse_is_shown_with_a_caret_and_the_nearest_word() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    let cases: [(&str, &[&str]); 8] = [
        ("app.py:4 {total", &["app.py:4 {total", "failed to find the end of what `{` opens"]),
        ("app.py:4 limt 4", &["did you mean `limit`?"]),
        ("app:work@retrun", &["did you mean `return`?", "`@entry`, `@return` or `@raise`"]),
        ("app.py:4 via overlai", &["did you mean `overlay`?"]),
        ("", &["the probe is empty"]),
        ("app.py", &["expected `module:function` or `path/to/file.py:LINE`"]),
        ("app.py:4 limit 0", &["expected a number of hits from 1"]),
        ("app.py:4 {total} {total}", &["each part comes once"]),
    ];
    for (probe, said) in cases {
        refused(&world, &["-p", probe, "--", "python3", "app.py"]).exits(3).says(said).says(&["nothing was launched", "-p:1:"]);
    }
    let all =
        refused(&world, &["-p", "app.py:4 limt 4", "-p", "x", "-p", "app.py:4 as q", "-p", "app.py:3 as q", "--", "python3", "app.py"]);
    all.exits(3).says(&["-p (number 1):1:10", "-p (number 2)", "-p (number 4)", "two probes are named `q`"]);
    assert!(!world.path(".bystander").exists(), "nothing was written");
}

#[test]
fn a_place_that_is_not_there_is_shown_with_what_is_near() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    let cases: [(&str, &[&str]); 7] = [
        ("app:wrok", &["no function `wrok`", "nearest: `work`", "-p:1:5"]),
        ("ap:work", &["no module `ap` is found", "-p:1:1"]),
        ("ap.py:4", &["there is no file", "nearest:"]),
        ("app.py:99", &["line 99 is past the last statement", "-p:1:8"]),
        ("app.py:4 {totl}", &["`totl` is not defined", "nearest: `total`", "-p:1:11"]),
        ("app.py:4 {total, open(1)}", &["the expression is not captured", "-p:1:18"]),
        ("app:work after \"x = ...\" {n}", &["no statement of the function matches", "-p:1:17"]),
    ];
    for (probe, said) in cases {
        refused(&world, &["-p", probe, "--", "python3", "app.py"]).exits(3).says(said).says(&["nothing was launched", "--list FILE"]);
    }
    assert!(!world.path(".bystander").exists(), "nothing was written");
}

#[test]
fn a_command_that_cannot_be_watched_says_why_and_what_to_do() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    world.write_program("start.sh", "#!/bin/sh\nexec python3 app.py\n");
    let p = "app.py:4";
    refused(&world, &["-p", p, "--", "nosuch-command"]).exits(3).says(&["find `nosuch-command`"]);
    refused(&world, &["-p", p, "--", "./app.py"]).exits(3).says(&["no permission to be executed"]);
    refused(&world, &["-p", p, "--", "./start.sh"]).exits(3).says(&["neither a Python", "--python PYTHON"]);
    refused(&world, &["-p", p, "--", "docker", "run", "image"]).exits(3).says(&["container"]);
    refused(&world, &["--", "python3", "app.py"]).exits(3).says(&["no probe is given", "-p PROBE"]);
    refused(&world, &["-p", p]).exits(3).says(&["no command is given"]);
    refused(&world, &["--pack", "nosuch", "--", "python3", "app.py"]).exits(3).says(&["sglang-memory, vllm-memory"]);
    refused(&world, &["--pack", "vllm-memory", "--", "python3", "app.py"]).exits(3).says(&["find vLLM"]);
    refused(&world, &["-p", "app.py:4 via patch", "--", "python3", "app.py"]).exits(3).says(&["changes no file on disk", "patch apply"]);
    refused(&world, &["-p", p, "--output", "no/such/folder", "--", "python3", "app.py"]).exits(4).says(&["--output FILE"]);
    for taken in ["app.py", "start.sh", "."] {
        let before = fs::read(world.path(taken)).ok();
        refused(&world, &["-p", p, "--output", taken, "--", "python3", "app.py"])
            .exits(3)
            .says(&["is there", "--output FILE, or remove it"]);
        assert_eq!(fs::read(world.path(taken)).ok(), before, "{taken}");
    }
    refused(&world, &["-p", p, "--output", "new", "--state", "/proc/bystander", "--", "python3", "app.py"]).exits(4);
    assert!(!world.path("new").exists(), "a file for hits of a program that was never launched");
    if let Some(old) = old_python() {
        let exe = old.path.to_str().expect("text");
        refused(&world, &["-p", p, "--", exe, "app.py"]).exits(3).says(&["3.8 or newer"]);
    }
    // Named, the Python of a script is found.
    world.bystander(["watch", "-p", p, "--python", "python3", "--", "./start.sh"]).run().exits(0).says(&["1 hit"]);
    assert_nothing_left(&world);
}

#[test]
fn a_state_directory_that_cannot_be_written_and_a_folder_that_is_gone_are_said() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    refused(&world, &["-p", "app.py:4", "--state", "/proc/bystander", "--", "python3", "app.py"]).exits(4).says(&["--state DIR"]);
    let inner =
        format!("mkdir gone && cd gone && rmdir ../gone && exec {} watch -p app.py:4 -- python3 app.py", env!("CARGO_BIN_EXE_bystander"));
    world.run(Path::new("/bin/sh")).args(["-c", &inner]).run().exits(4).says(&["failed to find the working directory"]);
    // A superuser may write anyway.
    let folder = world.path("closed");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, Permissions::from_mode(0o500)).expect("own folder");
    let closed = folder.join("state");
    let ran = world.bystander(["watch", "-p", "app.py:4", "--state"]).args([&closed]).args(["--", "python3", "app.py"]).run();
    assert!(ran.code == Some(0) || (ran.code == Some(4) && ran.stderr.contains("--state DIR")), "{}", ran.stderr);
}

#[test]
fn a_refusal_is_one_json_object_where_json_is_asked_for() {
    let Some(world) = python_world() else { return };
    world.write("app.py", APP);
    let ran = world.bystander(["watch", "--json", "-p", "app:wrok {n}", "--", "python3", "app.py"]).run().exits(3);
    let error = &ran.json()["error"];
    assert_eq!((&error["kind"], &error["problems"][0]["span"]["start"]), (&"user".into(), &4.into()), "{error:#}");
    let ran = world.bystander(["watch", "--json", "-p", "app.py:4", "--", "nosuch"]).run().exits(3);
    assert_eq!(ran.json()["error"]["kind"], "user");
}

#[test]
fn the_first_things_that_people_type_are_answered_with_what_they_meant() {
    let Some(world) = python_world() else { return };
    world.write("app.py", format!("{APP}double = lambda n: n * 2\n"));
    world.write("apx.txt", "");
    let terms = |count: usize| format!("app.py:4 {{{}}}", vec!["total"; count].join(" + "));
    let minus = format!("app.py:4 {{{}total}}", "-".repeat(3000));
    let (many, most) = (terms(300), terms(3000));
    let cases: [(&str, &[&str]); 15] = [
        ("app.py:work {n}", &["a function is named by its module, such as `app:work`", "-p:1:8"]),
        ("pkg/sub.py:C.f@return", &["such as `pkg.sub:C.f@return`"]),
        ("app.py:99999999999", &["the line number 99999999999 is too large"]),
        ("/dev/zero:1", &["`/dev/zero` cannot be read: it is not a regular file"]),
        (".:1", &["it is not a regular file"]),
        ("fifo:1", &["it is not a regular file"]),
        (&many, &["nested too deep"]),
        (&most, &["too long"]),
        (&minus, &["nested too deep"]),
        ("app.py:4 {total} if str(total) == \"5\" unsafe", &["a condition is never unsafe"]),
        ("app.py:4 {str(total)}", &["`unsafe` allows the rest"]),
        ("app:work limt 4", &["[compiled break|skip|refuse] [via auto|overlay|mount|patch]"]),
        ("app:double", &["`double` is a lambda (line 6)", "probe the line of a statement that calls it"]),
        ("app:work.<lambda>", &["a lambda has no name"]),
        ("app.py:4 via patch", &["changes no file on disk"]),
    ];
    world.run(Path::new("mkfifo")).args(["fifo"]).run().exits(0);
    for (probe, said) in cases {
        let ran = refused(&world, &["-p", probe, "--", "python3", "app.py"]).exits(3).says(said);
        for never in ["Traceback", "3.8 or newer", "unsafe = true", "apx.txt"] {
            assert!(!ran.stderr.contains(never), "{never}: {}", ran.stderr);
        }
    }
    refused(&world, &["--list", "fifo"]).exits(3).says(&["it is not a regular file"]);
    let enough = format!("app.py:4 {{{}}} limit 1", ["total"; 50].join(" + "));
    world.bystander(["watch", "-p", &enough, "--", "python3", "app.py"]).run().exits(0).says(&["1 hit"]);
}

#[test]
fn help_holds_the_whole_form_of_a_probe_and_no_delivery_that_is_always_refused() {
    let world = crate::world::world();
    let help = world.bystander(["watch", "--help"]).run().exits(0).stdout;
    for part in
        ["after \"PATTERN\"", "compiled break|skip|refuse", "via auto|overlay|mount|patch", "@raise", "600/min", "<auto|overlay|mount>"]
    {
        assert!(help.contains(part), "{part}: {help}");
    }
    world.bystander(["watch", "--delivery", "patch", "-p", "app:f", "--", "python3"]).run().exits(3).says(&["auto, overlay, mount]"]);
}

#[test]
fn a_large_file_with_many_probes_is_parsed_once_before_the_launch() {
    let Some(world) = python_world() else { return };
    let mut source = String::from("def work(n):\n    return n\n");
    for line in 0..60_000 {
        source.push_str(&format!("x{line} = {line}\n"));
    }
    world.write("app.py", format!("{source}work(1)\n"));
    let time = |probes: &[&str]| {
        let arguments: Vec<&str> = probes.iter().flat_map(|probe| ["-p", probe]).collect();
        let began = std::time::Instant::now();
        world.bystander(["watch"]).args(arguments).args(["--", "python3", "app.py"]).run().exits(0);
        began.elapsed()
    };
    let one = time(&["app:work"]);
    let probes: Vec<String> = (0..12).map(|number| format!("app:work {{n}} as q{number}")).collect();
    let twelve = time(&probes.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(twelve < one * 6, "one probe took {one:?}, twelve took {twelve:?}");
}
