//! Listing the places of a file: functions with their moments, lines, and files that cannot be listed.

use std::path::Path;

use bystander_probe::{Choice, ListError, Moment, ProblemKind, list_places};

use crate::world::{World, on_each, probe};

const FILE: &str = r#""""Doc."""
import torch
import numba
from typing import overload

LIMIT = 3


class Pool:
    def grow(self, by):
        """Grows."""
        for step in range(by):
            if step > 2:
                return step

    @torch.compile
    def shrink(self, by):
        return by


@numba.njit
def kernel(a):
    return a


@overload
def twice(a: int): ...
def twice(a):
    raise ValueError(a)


async def serve():
    x = 1
"#;

#[test]
fn functions_and_lines_are_told_with_what_a_probe_would_take() {
    on_each(|python| {
        let world = World::new(python, &[("pool.py", FILE)]);
        let found = list_places(&world.interpreter(), Path::new("pool.py")).expect("lists");
        let names: Vec<_> = found.functions.iter().map(|function| (function.name.as_str(), function.line)).collect();
        assert_eq!(
            names,
            [("Pool.grow", 10), ("Pool.shrink", 17), ("kernel", 22), ("twice", 27), ("twice", 28), ("serve", 32)],
            "3.{}",
            python.minor
        );
        let grow = &found.functions[0];
        assert_eq!(grow.at(Moment::Entry), &Choice::Chosen("before line 12 (for), entry of grow".into()));
        assert_eq!(grow.at(Moment::Return), &Choice::Chosen("at the returns of `grow` (14 and the end)".into()));
        assert_eq!(grow.at(Moment::Raise), &Choice::Chosen("when an exception leaves `grow`".into()));
        let effects = |index: usize| found.functions[index].compiled.as_ref().map(|by| (by.decorator.as_str(), by.line, by.effects.len()));
        assert_eq!([effects(0), effects(1), effects(2)], [None, Some(("torch.compile", 16, 2)), Some(("numba.njit", 21, 0))]);
        assert!(matches!(found.functions[3].at(Moment::Entry), Choice::Refused(reason) if reason.contains("@overload")));
        assert_eq!(found.functions[4].at(Moment::Return), &Choice::Refused("it never returns".into()));
        assert_eq!(found.functions[5].statement, "async def");
        let at = |line: u32| found.lines.iter().find(|row| row.line == line).map(|row| (row.chosen.as_str(), row.compiled.as_deref()));
        assert_eq!(at(1), Some(("before line 2 (import), line 1 must stay first", None)));
        assert_eq!((at(12), at(18)), (Some(("before line 12 (for)", None)), Some(("before line 18 (return)", Some("torch.compile")))));
        // What is listed is what a check chooses.
        for row in found.lines.iter().filter(|row| row.compiled.is_none()) {
            let checked = world.checked(&[probe(&format!("pool.py:{}", row.line), None, &[])]);
            assert_eq!((checked[0].chosen.as_str(), checked[0].line), (row.chosen.as_str(), row.at));
        }
    });
}

#[test]
fn any_encoding_is_read_and_what_cannot_be_parsed_says_so() {
    on_each(|python| {
        let world =
            World::new(python, &[("bom.py", "\u{feff}def f():\n    return 1\n"), ("broken.py", "x = 1\ndef f(:\n"), ("empty.py", "")]);
        let write = |name: &str, bytes: &[u8]| std::fs::write(world.program().join(name), bytes).expect("writes");
        write("latin.py", b"# -*- coding: latin-1 -*-\nx = '\xe9'\ndef f():\n    return x\n");
        write("bytes.py", b"x = 1\ny = '\xe9'\n");
        write("nul.py", b"x = 1\0\n");
        for (name, functions) in [("bom.py", 1), ("latin.py", 1), ("empty.py", 0)] {
            let found = list_places(&world.interpreter(), Path::new(name)).expect(name);
            assert_eq!(found.functions.len(), functions, "3.{} {name}", python.minor);
        }
        for (name, expected) in [("broken.py", Some(2)), ("bytes.py", None), ("nul.py", None)] {
            let error = list_places(&world.interpreter(), Path::new(name)).expect_err(name);
            let ListError::File { problem, .. } = &error else { panic!("3.{} {name}: {error}", python.minor) };
            let ProblemKind::FileSyntax { line, .. } = &problem.kind else { panic!("3.{} {name}: {problem:?}", python.minor) };
            assert!(expected.is_none() || *line == expected, "3.{} {name}: {problem:?}", python.minor);
        }
        let error = list_places(&world.interpreter(), Path::new("bim.py")).expect_err("there is none");
        assert!(
            matches!(&error, ListError::File { problem, .. } if matches!(&problem.kind, ProblemKind::FileNotFound { candidates, .. } if candidates[0].ends_with("bom.py"))),
            "{error}"
        );
    });
}
