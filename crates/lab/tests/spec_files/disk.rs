//! Files that cannot be read, and files that can.

use std::fs;
use std::path::Path;

use bystander_lab::spec;
use bystander_model::diagnostic::Diagnostic;

fn only_problem(path: &Path) -> Diagnostic {
    let mut problems = spec::read(path).expect_err("the file cannot be read");
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let problem = problems.remove(0);
    assert_eq!((problem.file.as_deref(), &problem.span), (Some(path), &None));
    problem
}

#[test]
fn a_missing_file_names_the_nearest_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("story.toml"), "").expect("a file");
    let path = folder.path().join("stroy.toml");
    let problem = only_problem(&path);
    assert_eq!(problem.message, format!("there is no file {}", path.display()));
    assert_eq!(problem.help, Some(format!("did you mean `{}`?", folder.path().join("story.toml").display())));
    assert_eq!(only_problem(&folder.path().join("nothing-like-it.toml")).help, None);
}

#[test]
fn a_directory_names_the_files_in_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("b.toml"), "").expect("a file");
    fs::write(folder.path().join("a.toml"), "").expect("a file");
    let problem = only_problem(folder.path());
    assert_eq!(problem.message, format!("{} is a directory, not an experiment file", folder.path().display()));
    assert_eq!(problem.help.as_deref(), Some("it holds `a.toml` and `b.toml`"));
}

#[test]
fn bytes_that_are_not_utf_8_are_named_with_their_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("latin.toml");
    fs::write(&path, b"question = \"?\"\n# caf\xe9\n").expect("a file");
    let problem = only_problem(&path);
    assert_eq!(problem.code, "spec.not_utf8");
    assert_eq!(problem.message, format!("{} is not UTF-8: line 2 holds the byte 0xe9", path.display()));
}

#[test]
fn a_file_that_no_hand_wrote_is_not_read_whole() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("large.toml");
    fs::File::create(&path).and_then(|file| file.set_len((16 << 20) + 1)).expect("a sparse file");
    assert_eq!(only_problem(&path).message, format!("{} is larger than 16 MiB, and so no experiment file", path.display()));
}

#[test]
fn relative_paths_are_relative_to_the_folder_of_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.toml");
    fs::write(&path, "\u{feff}program = { command = ['true'], cwd = 'b' }\r\nplan.describe = true\r\n").expect("a file");
    let checked = spec::read(&path).expect("a valid file, its byte order mark and line ends included");
    assert_eq!(checked.plan.program.cwd, folder.path().join("b"));
    assert_eq!(checked.plan.file, path);
}
