//! What is said where a command cannot do what it was asked: the reason, and the next step.

use std::path::Path;
use std::time::{Duration, Instant};

use bystander_testkit::{Signal, World, until};

use crate::fast::Fast;
use crate::world::{LIMIT, assert_nothing_left, run, text, world};

/// An experiment of one launch that ends at once.
const SHORT: &str = "[program]\ncommand = ['true']\n[plan]\nblocks = 1\ndescribe = true\n";

fn show(world: &World, folder: &Path, name: &str) -> String {
    world.bystander(["show", name]).cwd(folder).run().exits(3).stderr
}

#[test]
fn a_name_that_is_no_run_is_told_what_it_is_and_what_to_type() {
    let world = world();
    let file = world.write("case/one.toml", SHORT);
    world.write("case/other.toml", SHORT);
    let folder = world.path("case");
    let first = run(&world, &file).run().exits(0).json();
    let second = run(&world, &file).run().exits(0).json();
    let (first, second) = (text(&first["run"]), text(&second["run"]));

    let said = show(&world, &folder, "one.toml");
    assert!(said.contains("one.toml is an experiment file"), "{said}");
    assert!(
        said.contains(&format!("`bystander show {second}` prints its newest run")) && said.contains("`bystander run one.toml`"),
        "{said}"
    );
    // From elsewhere the state directory has to be named.
    let said = show(&world, &world.path("home"), &file.display().to_string());
    assert!(said.contains(&format!("bystander show {second} --state ")), "{said}");
    let said = show(&world, &folder, "other.toml");
    assert!(said.contains("it has no run yet") && said.contains("`bystander run other.toml`"), "{said}");
    let said = show(&world, &folder, "third.toml");
    assert!(said.contains("there is no file third.toml") && said.contains("show --list"), "{said}");

    let said = show(&world, &folder, "one-");
    let lines: Vec<&str> = said.lines().filter(|line| line.ends_with("one.toml")).collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains(second) && lines[1].contains(first) && lines[0].contains("finished"), "newest first: {said}");
    let said = show(&world, &folder, "unknown");
    assert!(said.contains("is named \"unknown\"") && said.contains(second) && said.contains("show --list"), "{said}");
    let said = show(&world, &folder, "no/such.tar.zst");
    assert!(said.contains("no/such.tar.zst") && said.contains("is the path of an archive"), "{said}");
}

#[test]
fn a_resume_that_is_refused_says_every_reason_at_once_and_claims_nothing() {
    let Some(fast) = Fast::new() else { return };
    fast.killed();
    let before = fast.show().run().exits(130).json();
    for name in ["app.py", "lib.py", "fast.toml"] {
        let path = if name == "fast.toml" { fast.file.clone() } else { fast.folder.join(name) };
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, format!("{text}\n# changed\n")).expect("a file");
    }
    let said = run(&fast.world, &fast.file).args(["--seed", "987654321"]).run().exits(3).stderr;
    for reason in [
        "the experiment file changed since",
        "app.py changed since",
        "lib.py changed since",
        "`--seed` asks for 987654321",
        "nothing was launched",
        "--new",
    ] {
        assert!(said.contains(reason), "{reason} is missing in:\n{said}");
    }
    assert!(said.contains(text(&before["run"])) && !said.contains("taken up after"), "{said}");
    assert_eq!(fast.show().run().exits(130).json(), before, "nothing was recorded");
}

#[test]
fn a_command_that_prepares_and_fails_is_told_with_its_last_lines_and_what_to_do() {
    let world = world();
    let failing = "['sh', '-c', 'for n in 1 2 3 4 5 6 7 8; do echo step $n >&2; done; exit 7']";
    for (hook, code, said) in [("setup", 4, "nothing was launched"), ("prepare", 2, "its program was not launched")] {
        let file = world.write(&format!("case/{hook}.toml"), format!("{SHORT}[hooks]\n{hook} = {failing}\n"));
        let ran = run(&world, &file).run().exits(code);
        let tail: String = ran.stderr.split(&format!("a command of `{hook}` in [hooks] failed")).nth(1).expect("the advice").to_owned();
        for words in [said, "exited with 7", "\n    | step 3\n", "\n    | step 8\n", &format!("{hook}-1.stderr"), "next: mend the command"]
        {
            assert!(tail.contains(words), "{words} is missing in:\n{}", ran.stderr);
        }
        assert!(!tail.contains("step 2\n"), "{tail}");
    }
    assert_nothing_left(&world);
}

#[test]
fn who_asks_to_stop_is_told_what_happens_and_a_second_time_ends_it_at_once() {
    let world = world();
    let stubborn = "[program]\ncommand = ['sh', '-c', 'trap \"\" TERM; echo > trapped; while :; do sleep 0.05; done']\ngrace = '50s'\n\
                    [plan]\nblocks = 1\ndescribe = true\n";
    let file = world.write("case/case.toml", stubborn);
    let mut running = run(&world, &file).start();
    until("it takes no SIGTERM", LIMIT, || world.path("case/trapped").exists());
    running.signal(Signal::INT);
    until("the answer", LIMIT, || running.stderr().contains("stopping: SIGTERM now, SIGKILL in 50 s; Ctrl-C again: SIGKILL now"));
    let asked_again = Instant::now();
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    assert!(asked_again.elapsed() < Duration::from_secs(40), "{:?}", asked_again.elapsed());
    assert!(ran.stderr.contains("stopping: SIGKILL now; edits are undone, the record is kept"), "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted after ") && !ran.stderr.contains("interrupted in"), "{}", ran.stderr);
    assert_nothing_left(&world);
}
