//! Problems with their source lines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bystander_model::diagnostic::Diagnostic;
use bystander_report::{Style, diagnostics};
use insta::assert_snapshot;

fn render(problem: Diagnostic, source: &str) -> String {
    let sources = BTreeMap::from([(PathBuf::from("story.toml"), source.to_owned())]);
    diagnostics(&[problem], &sources, &Style { unicode: false, ..Style::default() })
}

fn at(source: &str, meant: &str) -> Diagnostic {
    let start = source.find(meant).expect("it is there");
    Diagnostic::error("spec.unknown_key", "unknown key `comand`").at("story.toml", start..start + meant.len())
}

#[test]
fn a_problem_shows_its_line_the_reason_and_the_next_step() {
    let source = "question = \"x\"\n\n[program]\ncomand = [\"python3\"]\ntimeout = \"15m\"\n";
    let problem =
        at(source, "comand").label("not a key of [program]").note("known keys: command, ready, timeout").help("did you mean `command`?");
    assert_snapshot!(render(problem, source), @r#"
    error[spec.unknown_key]: unknown key `comand`
     --> story.toml:4:1
      |
    4 | comand = ["python3"]
      | ^^^^^^ not a key of [program]
      |
      = note: known keys: command, ready, timeout
      = help: did you mean `command`?
    "#);
}

#[test]
fn notes_keep_their_lines_and_indentation() {
    let source = "find = '''\nrest = a\n'''\n";
    let problem =
        at(source, "rest = a").note("nearest candidate at engine/sizing.py:42:\n-     rest = a\n+ \trest = b").help("copy it as it is");
    assert_snapshot!(render(problem, source), @r#"
    error[spec.unknown_key]: unknown key `comand`
     --> story.toml:2:1
      |
    2 | rest = a
      | ^^^^^^^^
      |
      = note: nearest candidate at engine/sizing.py:42:
              -     rest = a
              +     rest = b
      = help: copy it as it is
    "#);
}

#[test]
fn a_place_at_the_end_of_the_file() {
    let source = "a = 1\nb = [1,";
    let problem = Diagnostic::error("toml", "expected `]`").at("story.toml", source.len()..source.len()).label("here");
    assert_snapshot!(render(problem, source), @r#"
    error[toml]: expected `]`
     --> story.toml:2:8
      |
    2 | b = [1,
      |        ^ here
    "#);
    let problem = Diagnostic::error("toml", "expected a value").at("story.toml", 900..1000);
    assert_snapshot!(render(problem, "a =\n"), @r#"
    error[toml]: expected a value
     --> story.toml:2:1
      |
    2 |
      | ^
    "#);
}

#[test]
fn a_place_over_several_lines() {
    let source = "find = \"\"\"\none\ntwo\nthree\n\"\"\"\nafter = 1\n";
    let problem = at(source, "\"\"\"\none\ntwo\nthree\n\"\"\"").label("occurs twice");
    assert_snapshot!(render(problem, source), @r#"
    error[spec.unknown_key]: unknown key `comand`
     --> story.toml:1:8
      |
    1 |   find = """
      |  ________^
    2 | | one
    3 | | two
    4 | | three
    5 | | """
      | |___^ occurs twice
    "#);
}

#[test]
fn windows_line_ends_and_tabs() {
    let source = "[program]\r\n\tcomand = 1\r\nx = 2\r\n";
    assert_snapshot!(render(at(source, "comand").label("here"), source), @r#"
    error[spec.unknown_key]: unknown key `comand`
     --> story.toml:2:2
      |
    2 |     comand = 1
      |     ^^^^^^ here
    "#);
}

#[test]
fn a_very_long_line_is_cut_around_the_place() {
    let source = format!("command = [{}\"comand\"{}]\n", "\"aaaa\", ".repeat(200), ", \"bbbb\"".repeat(200));
    let rendered = render(at(&source, "\"comand\"").label("this one"), &source);
    assert!(rendered.lines().all(|line| line.chars().count() <= 90), "{rendered}");
    assert_snapshot!(rendered, @r#"
    error[spec.unknown_key]: unknown key `comand`
     --> story.toml:1:1612
      |
    1 | …aaaa", "aaaa", "aaaa", "comand", "bbbb", "bbbb", "bbbb", "bbbb", "bbbb…
      |                         ^^^^^^^^ this one
    "#);
}

#[test]
fn without_the_text_the_file_is_named() {
    let problem = Diagnostic::warning("place.changed", "the file changed").at("gone.py", 3..9).label("was here").help("run it again");
    assert_snapshot!(render(problem, ""), @r#"
    warning[place.changed]: the file changed
    --> gone.py
     = note: was here
     = help: run it again
    "#);
    assert_snapshot!(render(Diagnostic::error("python.missing", "no `python3` on PATH").help("install it"), ""), @r#"
    error[python.missing]: no `python3` on PATH
     |
     = help: install it
    "#);
}

#[test]
fn several_problems_follow_each_other_and_control_characters_are_shown() {
    let problems = [Diagnostic::error("a.b", "first \u{1b}[31mred\nsecond line"), Diagnostic::warning("c.d", "second").note("n\u{7}")];
    let rendered = diagnostics(&problems, &BTreeMap::new(), &Style::default());
    assert!(rendered.chars().all(|c| c == '\n' || !c.is_control()), "{rendered:?}");
    assert_snapshot!(rendered, @r#"
    error[a.b]: first \u{1b}[31mred
                second line

    warning[c.d]: second
     │
     ╰ note: n\u{7}
    "#);
}

#[test]
fn colour_is_there_only_where_it_is_wanted() {
    let source = "comand = 1\n";
    let sources = BTreeMap::from([(PathBuf::from("story.toml"), source.to_owned())]);
    let problem = [at(source, "comand").label("here")];
    assert!(!diagnostics(&problem, &sources, &Style::default()).contains('\u{1b}'));
    assert!(diagnostics(&problem, &sources, &Style { colour: true, ..Style::default() }).contains("\u{1b}["));
}
