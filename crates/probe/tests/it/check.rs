//! Checking places and captures before a launch.

use bystander_model::hit::ReceiptState;
use bystander_model::value::Value;
use bystander_probe::{Field, Interpreter, InterpreterError, ProblemKind, Side, check};

use crate::world::{World, on_each, probe};

const SIZING: &str = r#"
"""The sizing of a pool."""
import math


class Runner:
    def __init__(self, fraction):
        self.fraction = fraction

    def profile(self, total, available):
        """Says how much is left."""
        rest_memory = available - total * (
            1 - self.fraction
        )
        for step in range(2):
            rest_memory += step * 0
        tokens = int(rest_memory)
        return tokens


if __name__ == "__main__":
    print(Runner(0.55).profile(93.999, 21.697))
"#;

fn problem(world: &World, at: &str, after: Option<&str>, capture: &[&str]) -> (Field, Option<usize>, ProblemKind, String) {
    let (probes, mut problems) = check(&world.interpreter(), &[probe(at, after, capture)]).expect("answers").split();
    assert!(probes.is_empty() && problems.len() == 1, "{at} {after:?} {capture:?}: {probes:?}");
    let problem = problems.remove(0);
    let text = problem.to_string();
    (problem.field, problem.offset, problem.kind, text)
}

#[test]
fn a_story_like_probe_fires_with_its_values_and_a_receipt() {
    on_each(|python| {
        let world = World::new(python, &[("engine/__init__.py", "raise SystemExit('imported')\n"), ("engine/sizing.py", SIZING)]);
        let spec =
            probe("engine.sizing:Runner.profile", Some("rest_memory = ..."), &["available", "total", "self.fraction", "rest_memory"]);
        let probes = world.checked(&[spec]);
        assert_eq!((probes[0].line, probes[0].side, probes[0].scope.as_str()), (12, Side::After, "Runner.profile"));
        assert_eq!(probes[0].chosen, "after line 12 (assignment)");

        let run = world.run(&probes, &["engine/sizing.py"]);
        assert_eq!((run.stdout().as_str(), run.stderr().as_str()), ("-20\n", ""), "3.{}", python.minor);
        let hit = &run.hits[0];
        let values: Vec<f64> = hit.values.values().filter_map(Value::as_f64).collect();
        assert_eq!(values.len(), 4, "{hit:?}");
        assert!((values[3] + 20.602_55).abs() < 1e-6, "{hit:?}");
        assert_eq!((hit.seq, hit.line, hit.function.as_str()), (0, 12, "Runner.profile"));
        assert_eq!((run.hits.len(), run.receipts.len()), (1, 1));
        let receipt = &run.receipts[0];
        assert_eq!((receipt.state, receipt.hits, receipt.dropped), (ReceiptState::Armed, Some(1), Some(0)));
        assert_eq!(receipt.adds_switch_point, receipt.recorder.as_deref() != Some("native"));
        assert!(receipt.python.as_deref().is_some_and(|version| version.starts_with("3.")));
    });
}

#[test]
fn what_is_wrong_with_a_place_says_what_is_there_instead() {
    on_each(|python| {
        let text = format!("{SIZING}\nfrom engine.other import helper\n");
        let world = World::new(
            python,
            &[("engine/__init__.py", ""), ("engine/sizing.py", &text), ("engine/other.py", "def helper():\n    pass\n")],
        );
        let at = "engine.sizing:Runner.profile";
        let (field, _, kind, _) = problem(&world, "engine.sizin:f", None, &[]);
        assert!(matches!(&kind, ProblemKind::ModuleNotFound { candidates, .. } if candidates == &["engine.sizing"]), "{kind:?}");
        assert_eq!(field, Field::At);
        let (.., kind, _) = problem(&world, "engine.sizing:Runner.profil", None, &[]);
        assert!(matches!(&kind, ProblemKind::FunctionNotFound { candidates, .. } if candidates[0] == "Runner.profile"), "{kind:?}");
        let (.., kind, _) = problem(&world, "engine.sizing:helper", None, &[]);
        assert!(
            matches!(&kind, ProblemKind::FunctionNotFound { imported_from: Some(place), .. } if place == "engine.other:helper"),
            "{kind:?}"
        );
        let (field, _, kind, _) = problem(&world, at, Some("rest_memroy = ..."), &[]);
        assert!(matches!(&kind, ProblemKind::PatternNotFound { candidates, .. } if candidates[0].line == 12), "{kind:?}");
        assert_eq!(field, Field::After);
        let (_, offset, kind, _) = problem(&world, at, Some("rest = = 1"), &[]);
        assert!(matches!(kind, ProblemKind::PatternSyntax { .. }) && offset == Some(7), "{offset:?} {kind:?}");
        let (.., text) = problem(&world, "engine/sizing.py:99", None, &[]);
        assert_eq!(text, "line 99 is past the last statement, which ends at line 24");
        let (.., kind, _) = problem(&world, "engine/sizng.py:3", None, &[]);
        assert!(matches!(&kind, ProblemKind::FileNotFound { candidates, .. } if candidates[0].ends_with("engine/sizing.py")), "{kind:?}");
        let (.., kind, _) = problem(&world, "sys:exit", None, &[]);
        assert!(matches!(kind, ProblemKind::NoSource { .. }), "{kind:?}");
    });
}

#[test]
fn missing_and_old_interpreters_are_errors_of_their_own() {
    let folder = tempfile::tempdir().expect("makes a folder");
    let missing = Interpreter::new(folder.path().join("python"), folder.path(), Vec::new());
    assert!(matches!(check(&missing, &[]), Err(InterpreterError::Start { .. })));
    let old = folder.path().join("old-python");
    std::fs::write(&old, "#!/bin/sh\necho \"$4{\\\"too_old\\\": \\\"2.7.18\\\"}\"\n").expect("writes");
    std::fs::set_permissions(&old, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("makes it executable");
    let old = Interpreter::new(old, folder.path(), Vec::new());
    assert!(matches!(check(&old, &[]), Err(InterpreterError::TooOld { version, .. }) if version == "2.7.18"));
    let command = ["/bin/true".to_owned()];
    assert!(matches!(Interpreter::of_command(&command, folder.path(), Vec::new()), Err(InterpreterError::NotPython { .. })));
}

#[test]
fn a_file_that_the_interpreter_would_not_read_has_no_place() {
    on_each(|python| {
        let world = World::new(python, &[]);
        let bytes: [(&str, &[u8], Option<u32>); 3] = [
            ("comment.py", b"x = 1\n# \xff\ny = 2\n", Some(2)),
            ("text.py", b"x = '\xe9'\ny = 2\n", Some(1)),
            ("declared.py", b"# coding: latin-1\nx = '\xe9'\ny = 2\n", None),
        ];
        std::fs::create_dir_all(world.program()).expect("makes a folder");
        for (name, text, fault) in bytes {
            std::fs::write(world.program().join(name), text).expect("writes a file");
            let bare = world.run_plain(&[name]);
            assert_eq!(bare.status.success(), fault.is_none(), "3.{}: {name}", python.minor);
            let (probes, problems) = check(&world.interpreter(), &[probe(&format!("{name}:2"), None, &[])]).expect("answers").split();
            assert_eq!((probes.len(), problems.len()), if fault.is_none() { (1, 0) } else { (0, 1) }, "3.{}: {name}", python.minor);
            for problem in problems {
                assert!(matches!(problem.kind, ProblemKind::FileSyntax { line, .. } if line == fault), "{problem}");
            }
        }
    });
}
