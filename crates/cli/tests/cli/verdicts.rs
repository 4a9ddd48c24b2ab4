//! Verdicts from end to end: runs without end, conclusions that no longer hold, logs of earlier runs, the way from a verdict to its lines.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_testkit::{Ran, Signal, World, until};
use serde_json::Value;

use crate::world::{LIMIT, answer, assert_nothing_left, engine, python_world, run, text, trials, verdict, world};

/// An experiment whose level `b` ends with the code that stands in the file `code`; its baseline completes.
fn experiment(world: &World, plan: &str) -> PathBuf {
    let text = format!(
        "question = 'Does b break it?'\n[program]\ncommand = ['sh', '-c', '[ \"$ARM\" = a ] && exit 0; echo \"failing line\" >&2; exit \"$(cat code)\"']\n\
         [factors.arm]\na = {{ env = {{ ARM = 'a' }} }}\nb = {{ env = {{ ARM = 'b' }} }}\n\
         [plan]\nbaseline = {{ arm = 'a' }}\nseed = 3\n{plan}\n\
         [[hypotheses]]\nclaim = 'b breaks it'\npredicts = [{{ cell = {{ arm = 'b' }}, outcome = 'failed' }}, {{ cell = {{ arm = 'a' }}, outcome = 'completed' }}]\n"
    );
    world.write("case/case.toml", text)
}

/// Asserts that a command printed every text.
#[track_caller]
fn prints(ran: Ran, texts: &[&str]) -> Ran {
    let folded = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in texts {
        assert!(folded.contains(text), "{text:?} is missing in:\n{}", ran.stdout);
    }
    ran
}

fn code(world: &World, code: &str) {
    world.write("case/code", code);
}

#[test]
fn a_run_without_end_stops_when_it_is_decided_and_goes_on_after_it_was_stopped() {
    let world = world();
    code(&world, "0");
    let file = experiment(&world, "rule = 'e-value'\nblocks = { min = 4 }");
    let mut running = run(&world, &file).start();
    // Nothing differs, so it goes on past every cap that Fisher's test would have.
    let shown = || world.bystander(["show", "--json"]).cwd(file.parent().expect("a folder")).run();
    until("more launches than any cap allows", LIMIT, || {
        let shown = shown();
        shown.code != Some(3) && trials(&shown.json()).len() > 24
    });
    running.signal(Signal::INT);
    let stopped = running.wait().exits(130).json();
    assert_eq!((&stopped["status"], &stopped["plan"]["blocks"]), (&Value::from("interrupted"), &Value::Null));
    assert_eq!(verdict(&stopped, "factor:arm", "outcome"), "insufficient");
    let made = trials(&stopped).len();
    // Next week the level fails.
    code(&world, "7");
    let report = run(&world, &file).run().exits(0).json();
    assert_eq!(report["run"], stopped["run"], "the same command takes it up again");
    assert_eq!(report["status"], "finished");
    assert!(trials(&report).len() > made);
    let found = answer(&report, "factor:arm", "outcome");
    assert_eq!((text(&found["verdict"]), text(&found["strength"])), ("effect", "shown"));
    assert!(text(&found["text"]).contains("20 are needed"), "{found:#}");
    // The claim was open when it was stopped, and a launch had gone against it before: it stays refuted.
    assert_eq!(verdict(&report, "hypothesis:b breaks it", "outcome"), "refuted");
    assert_nothing_left(&world);
}

#[test]
fn a_later_run_that_says_otherwise_supersedes_a_conclusion_and_both_say_so() {
    let world = world();
    code(&world, "7");
    let file = experiment(&world, "blocks = 5\nmargin = 0.5");
    let folder = file.parent().expect("a folder");
    let first = run(&world, &file).run().exits(0).json();
    assert_eq!((verdict(&first, "factor:arm", "outcome"), &first["superseded"]), ("effect", &serde_json::json!([])));
    code(&world, "0");
    let second = run(&world, &file).run().exits(0).json();
    assert_ne!(first["run"], second["run"]);
    assert_eq!(verdict(&second, "factor:arm", "outcome"), "no_effect_within");
    let about = |report: &Value| -> Vec<String> {
        report["superseded"].as_array().expect("a list").iter().map(|one| text(&one["conclusion"]["about"]).to_owned()).collect()
    };
    assert_eq!(about(&second), ["factor:arm", "hypothesis:b breaks it"], "{second:#}");
    let one = &second["superseded"][0];
    assert_eq!((&one["run"], &one["by_run"], text(&one["now"])), (&first["run"], &second["run"], "no_effect_within"));
    assert!(one["by_trial"].is_u64() && text(&one["text"]).contains("UTC"), "{one:#}");
    // The first run keeps what it said, and says what became of it.
    let again = world.bystander(["show", "--json", text(&first["run"])]).cwd(folder).run().exits(0).json();
    assert_eq!(again["answers"], first["answers"]);
    assert_eq!(again["superseded"][0]["by_run"], second["run"]);
    prints(world.bystander(["show", text(&first["run"])]).cwd(folder).run().exits(0), &["Superseded conclusions", text(&second["run"])]);
    // Another file with the same name of things is another experiment.
    experiment(&world, "blocks = 5\nmargin = 0.6");
    let third = run(&world, &file).run().exits(0).json();
    assert_eq!(third["superseded"], serde_json::json!([]), "it is not the same specification");
}

#[test]
fn one_answer_is_walked_from_its_verdict_to_its_lines() {
    let world = world();
    code(&world, "7");
    let file = experiment(&world, "blocks = 5");
    let folder = file.parent().expect("a folder");
    let report = run(&world, &file).run().exits(0).json();
    let why = |args: &[&str]| world.bystander(["show"]).args(args.iter().copied()).cwd(folder).run();
    let walked = prints(
        why(&["--why", "factor:arm"]).exits(0),
        &[
            "arm: effect (shown)",
            "rule: Fisher's exact test, two-sided, at 0.0500, looked at after every block from 2 to 5",
            "numbers: at the look after 4 blocks: 4 of 4 fail against 0 of 4, p = 0.0286",
            "sign test",
            "counted: trials 1\u{2013}10",
            "Trial 1 (block 1)",
            "exit.code",
        ],
    );
    assert!(!walked.stdout.contains("b breaks it"), "the other answers are left out: {}", walked.stdout);
    prints(why(&["--why=arm"]).exits(0), &["arm: effect (shown)"]);
    prints(why(&["--why", "b breaks"]).exits(0), &["supported (shown)", "counted: trials"]);
    prints(why(&["--why", "hypothesis:b breaks it"]).exits(0), &["supported (shown)"]);
    let name = text(&report["run"]);
    prints(why(&["--why", name]).exits(0), &["Answers", "b breaks it"]);
    prints(why(&[name, "--why"]).exits(0), &["Answers", "b breaks it"]);
    why(&["--why", "factor:nothing"]).exits(3).says(&["no", "factor:nothing", "its answers are about factor:arm"]);
    let json = why(&["--json", "--why", "factor:arm"]).exits(0).json();
    assert_eq!((json["answers"].as_array().map(Vec::len), trials(&json).len()), (Some(1), 10));
}

#[test]
fn a_log_that_cannot_be_read_is_a_slip_of_the_file_and_nothing_is_launched() {
    let world = world();
    code(&world, "0");
    world.write("case/empty.log", "");
    fs::create_dir_all(world.path("case/folder.log")).expect("a folder");
    for (log, why) in
        [("missing.log", "No such file"), ("empty.log", "it is empty"), ("folder.log", "it is a folder"), ("/dev/zero", "no plain file")]
    {
        let file = experiment(&world, &format!("blocks = 4\n[[evidence]]\nlog = '{log}'"));
        run(&world, &file).run().exits(3).says(&[why, log]);
        let human = world.bystander(["run"]).args([&file]).run().exits(3);
        assert!(human.stderr.contains("this log"), "the place in the file is shown: {}", human.stderr);
    }
    world.bystander(["show"]).cwd(&world.path("case")).run().exits(3).says(&["holds none"]);
}

/// An experiment on the engine, with a fraction that cannot start the model.
fn on_engine(folder: &Path, more: &str) -> String {
    format!(
        "[program]\ncommand = ['python3', '-m', 'engine', '--tp-size', '8', '--mem-fraction-static', '0.55', '--port', '{{port}}']\ncwd = '{}'\n\
         ready = {{ log = 'ready to roll' }}\ntimeout = '60s'\n\
         [factors.allreduce]\nnccl = {{ args = ['--disable-custom-all-reduce'] }}\ncustom = {{ env = {{ FORCE_CUSTOM_AR = '1' }} }}\n\
         [plan]\nbaseline = {{ allreduce = 'nccl' }}\nblocks = 4\n{more}",
        folder.display()
    )
}

#[test]
fn an_old_log_of_the_engine_is_shown_as_what_it_is_and_serves_as_no_control_where_it_differs() {
    let Some(world) = python_world() else { return };
    let folder = engine(&world);
    let first = world.write("case/first.toml", on_engine(&folder, ""));
    let report = run(&world, &first).run().exits(0).json();
    let failed = trials(&report).iter().find(|trial| trial["levels"]["allreduce"] == "nccl").expect("a launch of the baseline");
    let kept = world.path("case/.bystander").join(text(&failed["output"]["stderr"]));
    let log = fs::read_to_string(&kept).expect("its output");
    world.write("case/same.log", &log);
    world.write("case/other.log", log.replace("mem_fraction_static=0.55", "mem_fraction_static=0.88"));
    let unknown: String = log.lines().filter(|line| !line.contains("server_args=")).flat_map(|line| [line, "\n"]).collect();
    world.write("case/baseline_clean.log", unknown);
    let evidence = "[[evidence]]\nlog = 'same.log'\n[[evidence]]\nlog = 'other.log'\n[[evidence]]\nlog = 'baseline_clean.log'\nname = 'the old baseline'";
    let second = world.write("case/second.toml", on_engine(&folder, evidence));
    let report = run(&world, &second).run().exits(0).json();
    let old = report["old_logs"].as_array().expect("logs");
    let names: Vec<&str> = old.iter().map(|log| text(&log["name"])).collect();
    assert_eq!(names, ["same.log", "other.log", "the old baseline"]);
    for log in old {
        assert_eq!(text(&log["outcome"]), "failed", "{log:#}");
        assert!(text(&log["cause"]["evidence"][0]["where"]).starts_with(text(&log["name"])), "its lines are named as its own: {log:#}");
        assert!(log["budget"]["rest_gib"]["value"].is_number(), "its memory terms are read: {log:#}");
        assert_eq!(text(&log["sha256"]).len(), 64);
    }
    for log in [&old[0], &old[2]] {
        assert_eq!(text(&log["cause"]["class"]), "memory.fraction_below_weights", "{log:#}");
    }
    let base = |log: &Value| {
        log["against"].as_array().expect("cells").iter().find(|cell| cell["cell"] == "nccl/none").expect("the baseline").clone()
    };
    assert_eq!(base(&old[0])["same"], true, "{:#}", base(&old[0]));
    assert!(text(&base(&old[1])["differs"][0]).starts_with("mem_fraction_static: 0.88"), "{:#}", base(&old[1]));
    assert!(
        text(&old[1]["text"]).contains("cannot serve as the baseline nccl/none: it differs in mem_fraction_static"),
        "{}",
        old[1]["text"]
    );
    assert!(text(&old[2]["text"]).contains("not known is the configuration of the old baseline"), "{}", old[2]["text"]);
    assert_eq!(report["cells"][0]["trials"], 1, "no old log is a launch of the baseline");
    let long = world.bystander(["show", "--why"]).cwd(&world.path("case")).run().exits(0);
    assert!(
        long.stdout.contains("Logs of earlier runs, which enter no test") && long.stdout.contains("against nccl/none: differs in"),
        "{}",
        long.stdout
    );
    assert_nothing_left(&world);
}
