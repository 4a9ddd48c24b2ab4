//! The rules of the house that a compiler does not hold: which crate may use which, where `unsafe` may stand, what files look like.
//!
//! What clippy holds (no printing outside `output`, no glob imports) is not repeated here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, TargetKind};

/// What may be used, beside what everybody may use: all use `model`, and the command uses all.
const EDGES: [(&str, &str); 8] = [
    ("probe", "edit"),
    ("probe", "recorder"),
    ("host", "lab"),
    ("host", "supervise"),
    ("host", "probe"),
    ("host", "edit"),
    ("host", "store"),
    ("host", "traffic"),
];
/// The command that puts the parts together.
const COMMAND: &str = "bystander";
/// What only tests may use.
const FOR_TESTS: &str = "testkit";
/// Where operating system code lives.
const MAY_BE_UNSAFE: [&str; 1] = ["supervise"];
/// Folders that hold no text of the project.
const NOT_OURS: [&str; 5] = ["target", ".git", ".bystander", "__pycache__", "installed"];

fn metadata() -> Metadata {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo tells about the workspace")
}

/// A crate by its folder's name; the command by its own.
fn short(name: &str) -> &str {
    name.strip_prefix("bystander-").unwrap_or(name)
}

/// The edges between crates of the workspace that are not for tests alone.
fn edges(metadata: &Metadata) -> BTreeSet<(String, String)> {
    let members: BTreeSet<&str> = metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    let of = |package: &Package| {
        let uses = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
        let inside = uses.filter(|dependency| members.contains(dependency.name.as_str()));
        inside.map(|dependency| (short(&package.name).to_owned(), short(&dependency.name).to_owned())).collect::<Vec<_>>()
    };
    metadata.workspace_packages().into_iter().flat_map(of).collect()
}

fn is_allowed(from: &str, to: &str) -> bool {
    to != FOR_TESTS && from != FOR_TESTS && (to == "model" || from == COMMAND || EDGES.contains(&(from, to)))
}

#[test]
fn crates_use_each_other_along_the_edges_of_the_house_and_no_others() {
    let edges = edges(&metadata());
    let forbidden: Vec<String> =
        edges.iter().filter(|(from, to)| !is_allowed(from, to)).map(|(from, to)| format!("{from} -> {to}")).collect();
    assert!(forbidden.is_empty(), "not in docs/ARCHITECTURE.md: {forbidden:?}");
}

#[test]
fn the_map_shows_every_crate_and_every_edge() {
    let metadata = metadata();
    let map = fs::read_to_string(metadata.workspace_root.join("docs/ARCHITECTURE.md")).expect("the map");
    for package in metadata.workspace_packages() {
        let name = if package.name == COMMAND { "cli" } else { short(&package.name) };
        assert!(map.contains(&format!("`{name}`")), "the map does not show {name}");
    }
    for (from, to) in EDGES {
        let row = map.lines().find(|line| line.starts_with(&format!("| `{from}` ")));
        assert!(row.is_some_and(|row| row.contains(&format!("`{to}`"))), "the map does not show {from} -> {to}");
    }
}

#[test]
fn unsafe_code_is_forbidden_but_in_the_crate_for_it() {
    for package in metadata().workspace_packages() {
        let is_root = |kind: &TargetKind| matches!(kind, TargetKind::Lib) || (package.name == COMMAND && matches!(kind, TargetKind::Bin));
        let roots: Vec<_> = package.targets.iter().filter(|target| target.kind.iter().any(is_root)).collect();
        assert!(!roots.is_empty(), "{} has no root", package.name);
        for root in roots {
            let text = fs::read_to_string(&root.src_path).expect("a root");
            let forbids = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
            assert_eq!(forbids, !MAY_BE_UNSAFE.contains(&short(&package.name)), "{}", root.src_path);
        }
    }
}

#[test]
fn every_source_file_says_what_it_is_for_and_is_named_after_it() {
    let root = metadata().workspace_root;
    let sources = files(root.join("crates").as_std_path());
    let sources: Vec<_> = sources.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
    assert!(sources.len() > 100, "only {} sources were found", sources.len());
    for path in sources {
        assert!(path.file_name().is_some_and(|name| name != "mod.rs"), "{}: `foo.rs` stands beside `foo/`", path.display());
        let text = fs::read_to_string(path).expect("a source");
        assert!(text.starts_with("//! "), "{} does not open with what it is for", path.display());
    }
}

#[test]
fn no_text_names_a_path_of_the_machine_that_it_was_written_on() {
    let root = metadata().workspace_root.into_std_path_buf();
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1).map(|home| format!("{home}/"));
    let private: Vec<String> = [Some(root.display().to_string()), home].into_iter().flatten().collect();
    for path in files(&root) {
        let bytes = fs::read(&path).expect("a file of the project");
        // What is no text has no lines to show a path in.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            let found = private.iter().find(|private| line.contains(private.as_str()));
            assert!(found.is_none(), "{}:{number} names {found:?}", path.display());
        }
    }
}

/// Every file below a folder that is the project's own.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let entry = entry.expect("an entry");
        let is_ours = !NOT_OURS.iter().any(|name| entry.file_name() == *name);
        let kind = entry.file_type().expect("a kind");
        if is_ours && kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if is_ours && kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}
