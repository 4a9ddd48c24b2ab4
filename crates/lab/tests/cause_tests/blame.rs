//! The blame check: a failing stack that runs through a line that an edit added.

use bystander_lab::cause::{Place, Spot, TrialFacts, blame, classify};
use bystander_model::edit::AppliedEdit;
use bystander_model::outcome::{CauseGroup, Outcome};

use crate::feed::{died, edit, scan};
use crate::pythons::{pythons, run};

fn traceback(frames: &[(&str, u32, &str)], error: &str) -> String {
    let frames: String = frames.iter().map(|(file, line, function)| format!("  File \"{file}\", line {line}, in {function}\n")).collect();
    format!("Traceback (most recent call last):\n{frames}{error}\n")
}

fn with_edits(log: &str, edits: Vec<AppliedEdit>) -> TrialFacts {
    TrialFacts { edits, ..died(log, 1, 99) }
}

#[test]
fn an_error_on_an_added_line_is_the_instrument_s() {
    let log = traceback(&[("/app/run.py", 3, "main"), ("/app/engine/sizing.py", 15, "profile")], "NameError: name 'rest' is not defined");
    let found = classify(&with_edits(&log, vec![edit("/app/engine/sizing.py", 14..16)]), &[]);
    let cause = found.cause.expect("a cause");
    assert_eq!((found.outcome, cause.group, cause.blames.as_deref()), (Outcome::Failed, CauseGroup::Instrument, Some("print")));
    assert_eq!(cause.class, "python.NameError");
    assert!(cause.text.contains("raised on a line that print added"), "{}", cause.text);
    assert_eq!(cause.evidence[1].place, "stderr:3");
}

#[test]
fn the_same_error_beside_the_added_lines_is_the_program_s() {
    for added in [14..15, 16..18, 15..15] {
        let log = traceback(&[("/app/engine/sizing.py", 15, "profile")], "RuntimeError: Not enough memory");
        let cause = classify(&with_edits(&log, vec![edit("/app/engine/sizing.py", added)]), &[]).cause.expect("a cause");
        assert_eq!((cause.group, cause.blames), (CauseGroup::Target, None));
    }
    let log = traceback(&[("/app/other/sizing.py", 15, "profile")], "RuntimeError: Not enough memory");
    let cause = classify(&with_edits(&log, vec![edit("/app/engine/sizing.py", 14..16)]), &[]).cause.expect("a cause");
    assert_eq!(cause.blames, None);
}

#[test]
fn a_call_from_an_added_line_counts_and_is_said_to_be_outer() {
    let log = traceback(&[("/app/sizing.py", 15, "profile"), ("/usr/lib/python3.11/json/encoder.py", 180, "default")], "TypeError: no");
    let facts = with_edits(&log, vec![edit("/app/sizing.py", 15..16)]);
    assert_eq!(blame(&facts.scan.tracebacks[0], &facts.edits, &facts.place).expect("blamed").spot, Spot::Outer);
    assert!(classify(&facts, &[]).cause.expect("a cause").text.contains("called from a line that print added, app/sizing.py:15"));
}

#[test]
fn an_added_line_in_what_came_of_the_error_is_said_to_be_later() {
    let log = format!(
        "{}\nDuring handling of the above exception, another exception occurred:\n\n{}",
        traceback(&[("/app/a.py", 3, "f")], "KeyError: 'x'"),
        traceback(&[("/app/sizing.py", 15, "profile")], "NameError: name 'y' is not defined")
    );
    let facts = with_edits(&log, vec![edit("/app/sizing.py", 15..16)]);
    let blame = blame(&facts.scan.tracebacks[0], &facts.edits, &facts.place).expect("blamed");
    assert_eq!((blame.spot, blame.frame.at), (Spot::Later, 8));
}

#[test]
fn a_place_that_does_not_parse_counts_up_to_one_line_past() {
    for (line, blamed) in [(14, true), (15, true), (16, true), (17, false), (13, false)] {
        let log = format!("  File \"/app/sizing.py\", line {line}\n    x = (\n        ^\nSyntaxError: invalid syntax\n");
        let cause = classify(&with_edits(&log, vec![edit("/app/sizing.py", 14..16)]), &[]).cause.expect("a cause");
        assert_eq!(cause.blames.is_some(), blamed, "line {line}");
    }
}

#[test]
fn links_and_relative_names_lead_to_the_edited_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let real = std::fs::canonicalize(folder.path()).expect("real");
    std::fs::create_dir(real.join("engine")).expect("makes");
    std::fs::write(real.join("engine/sizing.py"), "x\n").expect("writes");
    std::os::unix::fs::symlink(real.join("engine"), real.join("link")).expect("links");
    let edited = real.join("engine/sizing.py");
    for printed in ["engine/sizing.py".to_owned(), "./link/sizing.py".to_owned(), real.join("link/sizing.py").display().to_string()] {
        let scanned = scan(&traceback(&[(&printed, 1, "f")], "NameError: no"));
        let place = Place::here(real.clone());
        assert!(blame(&scanned.tracebacks[0], &[edit(&edited.display().to_string(), 1..2)], &place).is_some(), "{printed}");
    }
}

#[test]
fn a_print_that_does_no_harm_leaves_the_signature_as_it_is() {
    let plain = "def profile(total):\n    rest = total - 3\n    if rest < 0:\n        raise RuntimeError('rest=%d' % rest)\nprofile(1)\n";
    let printed = plain.replace("    if rest", "    import sys\n    print('DEBUG', rest, file=sys.stderr)\n    if rest");
    let folder = tempfile::tempdir().expect("a folder");
    let real = std::fs::canonicalize(folder.path()).expect("real");
    for (_, python) in pythons() {
        let signature_of = |script: &str, edits: Vec<AppliedEdit>| {
            let log = run(&python, folder.path(), script);
            let facts = TrialFacts { place: Place::here(real.clone()), ..with_edits(&log, edits) };
            classify(&facts, &[]).cause.expect("a cause")
        };
        let without = signature_of(plain, Vec::new());
        let with = signature_of(&printed, vec![edit(&real.join("app.py").display().to_string(), 3..5)]);
        assert_eq!((without.signature.as_str(), without.blames), (with.signature.as_str(), with.blames));
        assert!(with.signature.contains("app.py:profile: rest=#"), "{}", with.signature);
    }
}

#[test]
fn a_broken_print_is_blamed_on_every_interpreter() {
    let script = "def profile(total):\n    rest = total - 3\n    print(f'DEBUG rest={rst:.3f}')\n    return rest\nprofile(9)\n";
    let folder = tempfile::tempdir().expect("a folder");
    let real = std::fs::canonicalize(folder.path()).expect("real");
    for (_, python) in pythons() {
        let log = run(&python, folder.path(), script);
        let facts = TrialFacts {
            place: Place::here(real.clone()),
            ..with_edits(&log, vec![edit(&real.join("app.py").display().to_string(), 3..4)])
        };
        let cause = classify(&facts, &[]).cause.expect("a cause");
        assert_eq!((cause.class.as_str(), cause.blames.as_deref()), ("python.NameError", Some("print")), "{log}");
    }
}

/// What a program that completed raised on line 4 of `/app/work.py`.
fn raised(log: &str) -> Vec<bystander_model::outcome::RaisedByInstrument> {
    let facts = TrialFacts { exit: Some(0), expects_ready: false, ..with_edits(log, vec![edit("/app/work.py", 4..5)]) };
    let found = classify(&facts, &[]);
    assert_eq!((found.outcome, found.cause), (Outcome::Completed, None), "{log}");
    for raised in &found.raised {
        assert!(found.evidence.contains(&raised.evidence[0]), "it is quoted");
    }
    found.raised
}

#[test]
fn an_added_line_that_raises_is_told_of_a_program_that_completes_all_the_same() {
    let threading = ("/usr/lib/python3.11/threading.py", 982, "run");
    let work = ("/app/work.py", 4, "work");
    let error = "AttributeError: no such thing";
    let thread = format!("Exception in thread Thread-1 (work):\n{}done\n", traceback(&[threading, work], error));
    let child = format!("Process ForkProcess-1:\n{}done\n", traceback(&[work], error));
    let handler = format!("{}served\n", traceback(&[("/app/server.py", 9, "do_GET"), work], error));
    let ignored = format!("Exception ignored in: <function A.__del__>\n{}done\n", traceback(&[("/app/server.py", 9, "f"), work], error));
    let called = traceback(&[("/app/server.py", 9, "f"), work, ("/usr/lib/python3.11/json/encoder.py", 180, "default")], error);
    for log in [thread, child, handler, ignored, called] {
        let found = raised(&log);
        assert_eq!((found.len(), found[0].cut_short, found[0].instrument.as_str()), (1, true, "print"), "{log}");
        assert!(found[0].text.contains("line that print added"), "{}", found[0].text);
    }
    let unparsed = raised("  File \"/app/work.py\", line 4\n    x = (\n        ^\nSyntaxError: invalid syntax\n");
    assert!(unparsed[0].cut_short);
}

#[test]
fn an_added_line_beside_which_the_exception_may_have_been_caught_is_told_and_cuts_nothing_short() {
    let found = raised(&format!("{}done\n", traceback(&[("/app/work.py", 4, "work")], "KeyError: 'x'")));
    assert_eq!((found.len(), found[0].cut_short), (1, false));
    // Who is told to end may be on any line.
    for error in ["KeyboardInterrupt", "SystemExit: 0", "asyncio.exceptions.CancelledError"] {
        assert_eq!(raised(&traceback(&[("/app/server.py", 9, "f"), ("/app/work.py", 4, "work")], error)), []);
    }
    assert_eq!(raised(&traceback(&[("/app/server.py", 9, "f"), ("/app/work.py", 5, "work")], "KeyError: 'x'")), []);
}

#[test]
fn one_added_line_that_raises_is_found_among_many_other_tracebacks() {
    let other = traceback(&[("/app/cache.py", 8, "get"), ("/app/cache.py", 2, "miss")], "KeyError: 'x'");
    let own = traceback(&[("/app/server.py", 9, "f"), ("/app/work.py", 4, "work")], "NameError: name 'y' is not defined");
    let log = format!("{}{own}{}done\n", other.repeat(60), other.repeat(60));
    assert_eq!(raised(&log).len(), 1);
}
