//! What is said and shown of another machine: by what is here alone, in words that hold here.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use bystander_testkit::{Mark, Sshd, skip};

use crate::export::contents;
use crate::remote::{EXPERIMENT, far, far_state, on};
use crate::world::world;

#[test]
fn a_run_there_is_found_by_its_file_and_its_archive_has_all_of_it() {
    let Some((world, sshd)) = far() else { return };
    // A secret of the file is in no archive, and nowhere in what is kept here.
    world.write("exp/e.toml", EXPERIMENT.replace("[factors.v]", "env = { API_TOKEN = \"sk-secret-1\" }\n[factors.v]"));
    let report = on(&world, &sshd, ["run", "exp/e.toml", "--json"]).run().exits(2).json();
    let run = report["run"].as_str().expect("a run");
    let named = world.bystander(["show", "exp/e.toml"]).run().exits(3);
    named.says(&[&format!("bystander show {run}"), "prints its newest run"]);
    // The file may be another one by now.
    world.write("exp/e.toml", "");
    world.bystander(["export", "--state", "exp/.bystander", "-o", "run.tar.zst"]).run().exits(0);
    let members = contents(&world.path("run.tar.zst"));
    let member = |name: &str| String::from_utf8_lossy(members.get(&format!("{run}/{name}")).expect(name)).into_owned();
    let text = member("experiment.toml");
    assert!(text.contains("does b say more?") && !text.contains("sk-secret-1"), "{text}");
    assert!(member("far.json").contains("\"ssh://target\""), "{}", member("far.json"));
    let kept = fs::read_dir(world.path("exp/.bystander/remote/experiments")).expect("a folder").flatten();
    for file in kept {
        assert!(!fs::read_to_string(file.path()).expect("a text").contains("sk-secret-1"));
    }
    drop(sshd);
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let shown = world.bystander(["show"]).args([world.path("run.tar.zst")]).cwd(&elsewhere).run().exits(2);
    shown.says(&["ran on ssh://target ("]);
    world.bystander(["show", "--state", "exp/.bystander"]).run().exits(2).says(&["ran on ssh://target ("]);
}

#[test]
fn a_dry_run_leaves_nothing_here_and_nothing_of_its_own_there() {
    let Some((world, sshd)) = far() else { return };
    world.write("exp/e.toml", EXPERIMENT);
    on(&world, &sshd, ["run", "exp/e.toml", "--dry-run"]).run().exits(0);
    let here: Vec<_> = fs::read_dir(world.path("exp")).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(here, ["e.toml"]);
    assert!(!world.path("home/.local/state/bystander").exists(), "nothing with the user's state either");
    let there: Vec<_> = fs::read_dir(far_state(&world).join("far")).expect("a folder").flatten().map(|entry| entry.path()).collect();
    assert!(there.len() == 1 && there[0].ends_with("passing"), "{there:?}");
    assert!(fs::read_dir(there[0].join("jobs")).expect("jobs").next().is_none());
    // Where the file was run before, the state directory there is the one of its runs.
    on(&world, &sshd, ["run", "exp/e.toml"]).run().exits(2);
    on(&world, &sshd, ["run", "exp/e.toml", "--dry-run"]).run().exits(0);
    assert_eq!(fs::read_dir(far_state(&world).join("far")).expect("a folder").count(), 2);
}

#[test]
fn an_experiment_is_read_once() {
    let Some((world, sshd)) = far() else { return };
    let pipe = world.path("e.toml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).expect("a pipe");
    let running = on(&world, &sshd, ["run", "e.toml", "--json"]).start();
    fs::write(&pipe, EXPERIMENT).expect("it is read");
    assert_eq!(running.wait().exits(2).json()["trials"].as_array().map(Vec::len), Some(8));
}

#[test]
fn texts_of_any_bytes_arrive_as_they_are_from_the_command_line_and_from_files() {
    let Some((world, sshd)) = far() else { return };
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let before = b"a = \xff '$HOME'\nb = 2\n";
    // The file is of another encoding, and of none that anybody declares.
    let files = [world.write("x.txt", before), world.write("far/x.txt", before)];
    fs::write(world.path("find"), b"\xff '$HOME'").expect("written");
    fs::write(world.path("text"), b"\xfe \"`x`\n").expect("written");
    let apply = ["patch", "apply", "--file", "x.txt"];
    let ways = [
        [odd(b"--find"), odd(b"\xff '$HOME'"), odd(b"--replace"), odd(b"\xfe \"`x`\n")],
        [odd(b"--find=\xff '$HOME'"), odd(b"--replace=\xfe \"`x`\n"), odd(b"--name"), odd(b"n")],
        [odd(b"--find-file"), odd(b"find"), odd(b"--replace-file"), odd(b"text")],
        [odd(b"--find"), odd(b"\xff '$HOME'"), odd(b"--insert-after"), odd(b"\xfe")],
        [odd(b"--find"), odd(b"\xff '$HOME'"), odd(b"--insert-before=\xfe"), odd(b"--inline")],
    ];
    for way in &ways {
        let made = [world.bystander(apply).args(way).run().exits(0), on(&world, &sshd, apply).args(way).run().exits(0)];
        let [here, there] = files.each_ref().map(|file| fs::read(file).expect("the file"));
        assert!(here == there && here.contains(&0xfe), "{way:?}: {here:?} {there:?}");
        for diff in [world.bystander(["patch", "diff"]).run().exits(0), on(&world, &sshd, ["patch", "diff"]).run().exits(0)] {
            assert!(diff.stdout.contains("\\xfe") && diff.stdout.contains("a = \\xff '$HOME'"), "{}", diff.stdout);
        }
        drop(made);
        world.bystander(["patch", "revert"]).run().exits(0);
        on(&world, &sshd, ["patch", "revert"]).run().exits(0);
        files.iter().for_each(|file| assert_eq!(fs::read(file).expect("the file"), before));
    }
    // What is not there is told in letters.
    let missing = world.bystander(apply).args(["--replace", "y", "--find"]).args([odd(b"a = \xfd '$HOME'")]).run().exits(3);
    missing.says(&["\\xff", "\\xfd"]);
}

#[test]
fn a_file_of_text_is_not_made_something_else_unawares() {
    let world = world();
    for name in ["x.py", "x.rs"] {
        world.write(name, "// 1\n");
        let apply = || {
            let run = world.bystander(["patch", "apply", "--file", name, "--find", "1", "--replace"]);
            run.args([OsString::from_vec(b"\xff".to_vec())])
        };
        apply().run().exits(3).says(&["line 1 would be a syntax error"]);
        let _made = apply().args(["--unchecked"]).run().exits(0);
    }
}

#[test]
fn an_argument_that_must_be_text_is_refused_by_its_name_here_and_there() {
    let Some((world, sshd)) = far() else { return };
    world.write("x.txt", "x\n");
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let apply = ["patch", "apply", "--file", "x.txt", "--find", "x", "--replace", "y", "--lang"];
    for run in [world.bystander(apply), on(&world, &sshd, apply)] {
        run.args([odd(b"p\xff")]).run().exits(3).says(&["failed to read --lang: its value `p\\xff` is not UTF-8"]);
    }
    // The folder of an address may be of any bytes; the rest of it is text.
    fs::create_dir(world.path("far").join(odd(b"\xff d"))).expect("a folder");
    fs::write(world.path("far").join(odd(b"\xff d")).join("x.txt"), "x\n").expect("a file");
    let applied = world.bystander(["--ssh-config"]).args([sshd.config()]).args([odd(b"--on"), odd(b"ssh://target/~/\xff d")]);
    let applied = applied.args(["patch", "apply", "--file", "x.txt", "--find", "x", "--replace", "y"]).run().exits(0);
    assert!(applied.stdout.contains("--on $'ssh://target/~/\\377 d'"), "{}", applied.stdout);
    world.bystander(["doctor", "--on"]).args([odd(b"ssh://t\xff/x")]).run().exits(3).says(&["`t\\xff` is no name of a host"]);
}

#[test]
fn a_path_that_no_record_can_hold_is_refused_before_anything_is_done_here_and_there() {
    let Some((world, sshd)) = far() else { return };
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let app = "x = 1\nopen('ran', 'w').close()\n";
    let (here, there) = (world.path("near").join(odd(b"\xff d")), world.path("far").join(odd(b"\xff d")));
    for folder in [&here, &there] {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("app.py"), app).expect("a file");
    }
    fs::write(here.join("e.toml"), EXPERIMENT).expect("a file");
    world.write("plain/e.toml", EXPERIMENT);
    world.write("plain/app.py", "import runpy\n");
    fs::write(world.path("plain").join(odd(b"\xff.py")), app).expect("a file");
    let refused = |run: bystander_testkit::Run| {
        let ran = run.run().exits(3).says(&["\\xff", "not UTF-8", "move or rename it"]);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    };
    let watch = ["watch", "-p", "app.py:1 {x}", "--", "python3", "app.py"];
    let apply = ["patch", "apply", "app.py:1 {x}"];
    for args in [&watch[..], &apply, &["run", "e.toml"], &["run", "e.toml", "--dry-run"], &["watch", "--list", "app.py"]] {
        refused(world.bystander(args.iter().copied()).cwd(&here));
        if args[0] != "watch" || args.len() > 3 {
            let far = world.bystander(["--ssh-config"]).args([sshd.config()]).args([odd(b"--on"), odd(b"ssh://target/~/\xff d")]);
            refused(far.args(args.iter().copied()).cwd(&world.path("plain")));
        }
    }
    let elsewhere = here.join("app.py");
    let script = world.bystander(["watch", "-p", "app:f {x}", "--", "python3"]).args([elsewhere]).cwd(&world.path("plain")).run();
    assert!(script.code == Some(3) && !script.stderr.contains("panicked"), "{}", script.stderr);
    for folder in [&here, &there] {
        assert_eq!(fs::read_to_string(folder.join("app.py")).expect("the file"), app);
        let has = |name: &str| folder.join(name).exists();
        assert!(!has("ran") && !has(".bystander/runs"), "nothing was launched or recorded");
    }
    // A text that is found needs no record of the path as text.
    let edit = ["patch", "apply", "--file", "app.py", "--find", "x = 1", "--replace", "x = 2"];
    let _made = world.bystander(edit).cwd(&here).run().exits(0);
    assert!(fs::read_to_string(here.join("app.py")).expect("the file").starts_with("x = 2"));
}

#[test]
fn texts_that_are_longer_than_a_message_are_refused_once_and_not_sent() {
    let Some((world, sshd)) = far() else { return };
    world.write("far/x.txt", "x\n");
    let long = world.write("long.txt", vec![b'x'; (64 << 20) + 1]);
    let run = on(&world, &sshd, ["patch", "apply", "--file", "x.txt", "--replace", "y", "--find-file"]).args([long]).run().exits(3);
    let run = run.says(&["67108865 bytes", "64 MiB"]);
    assert!(!run.stderr.contains("again"), "{}", run.stderr);
    assert_eq!(fs::read_to_string(world.path("far/x.txt")).expect("the file"), "x\n");
    on(&world, &sshd, ["patch", "status"]).run().exits(0);
}

#[test]
fn only_what_is_live_there_is_told_as_what_is_there_and_by_names() {
    let Some((world, mut sshd)) = far() else { return };
    world.write("far/x.py", "x = 1\n");
    on(&world, &sshd, ["patch", "apply", "--file", "x.py", "--find", "x = 1", "--replace", "x = 2"]).run().exits(0);
    let status = world.bystander(["patch", "status"]).run().exits(1).stdout;
    assert!(status.starts_with("NOT clean: 1 edit live on ssh://target. On this machine no edit is live"), "{status}");
    assert!(status.contains("`bystander --on ssh://target --ssh-config "), "{status}");
    let user = world.run(Path::new("id")).args(["-un"]).run().exits(0).stdout;
    let row = status.lines().find(|line| line.contains("x.py") && line.contains("live")).unwrap_or_default();
    assert!(row.split_whitespace().any(|word| word == user.trim()), "{status}");
    let json = world.bystander(["patch", "status", "--json"]).run().exits(1).json();
    let uid = json["hosts"][0]["report"]["edits"][0]["by"].as_str().expect("a number").to_owned();
    assert_eq!(json["hosts"][0]["report"]["users"][&uid], user.trim(), "{json}");
    sshd.stop();
    let status = world.bystander(["patch", "status"]).run().exits(1).stdout;
    assert!(status.starts_with("NOT clean: 1 edit live on ssh://target when it was last asked."), "{status}");
}

#[test]
fn a_log_that_is_not_there_is_said_to_be_read_there() {
    let Some((world, sshd)) = far() else { return };
    world.write("server.log", "");
    let said = on(&world, &sshd, ["memory", "explain", "server.log"]).run().exits(3);
    said.says(&["failed to find server.log", "with --on a log is read there", &world.path("far").display().to_string(), "leave out --on"]);
}

#[test]
fn whoever_logs_in_with_another_shell_gets_the_same() {
    for shell in ["/usr/bin/tcsh", "/usr/bin/fish"] {
        if !Path::new(shell).exists() {
            return skip(&format!("there is no {shell}"), Mark::Machine);
        }
        let world = world();
        let Some(sshd) = Sshd::start(&world, None) else { return skip("there is no sshd", Mark::Machine) };
        let sshd = sshd.with_shell(&world, Path::new(shell));
        let brought = on(&world, &sshd, ["doctor"]).run();
        assert_eq!(brought.code, Some(0), "{shell}: {}\n{}", brought.stdout, brought.stderr);
        let brought = brought.says(&["copying this executable to ssh://target: there is no bystander there", "answers by a shell"]);
        assert!(!brought.stderr.contains("Unmatched"), "{}", brought.stderr);
        on(&world, &sshd, ["doctor", "--no-upload"]).run().exits(0);
    }
}

#[test]
fn a_login_that_is_refused_by_its_shell_says_so() {
    let Some((world, sshd)) = far() else { return };
    let shell = world.write_program("no-login", "#!/bin/sh\necho 'This account is closed on weekdays.'\nexit 1\n");
    let sshd = sshd.with_shell(&world, &shell);
    for options in [&["doctor"][..], &["doctor", "--no-upload"]] {
        on(&world, &sshd, options.iter().copied()).run().exits(4).says(&["This account is closed on weekdays."]);
    }
}
