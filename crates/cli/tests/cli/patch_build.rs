//! Edits of compiled languages with real build tools: what is built is what stands in the file, with the edit and after it.

use std::fs;
use std::path::PathBuf;

use bystander_testkit::{Mark, skip};

use crate::world::{text, world};

fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("there is no {name}"), Mark::Machine);
    }
    found
}

#[test]
fn make_builds_the_edit_and_then_what_was_there_before() {
    let (Some(make), Some(_)) = (tool("make"), tool("cc")) else { return };
    let world = world();
    let source = "#include <stdio.h>\nint main(void) {\n    int rest = 1;\n    printf(\"%d\\n\", rest);\n    return 0;\n}\n";
    let file = world.write("tree/m.c", source);
    world.write("tree/Makefile", "m: m.o\n\tcc -o m m.o\nm.o: m.c\n\tcc -MMD -c m.c\n");
    let build = || world.run(&make).args(["-s"]).cwd(&world.path("tree")).run().exits(0);
    let run = || world.run(&world.path("tree/m")).run().exits(0).stdout;
    let patch = |args: &[&str]| world.bystander(["patch"]).args(args).cwd(&world.path("tree")).run();
    build();
    assert_eq!(run(), "1\n");
    patch(&["apply", "--file", "m.c", "--pattern", "int rest = $X;", "--insert-after", "rest = 77;"]).exits(0);
    build();
    assert_eq!(run(), "77\n");
    patch(&["revert"]).exits(0).says(&["new modification time so that make and cargo build it again"]);
    assert_eq!(fs::read_to_string(&file).expect("there"), source);
    let left = patch(&["verify", "--json"]).exits(1).json();
    let kinds: Vec<&str> = left["problems"].as_array().expect("problems").iter().map(|problem| text(&problem["kind"])).collect();
    assert_eq!(kinds, ["build", "build"], "the object and the program beside it: {left:#}");
    build();
    assert_eq!(run(), "1\n", "what stands in the file is what is built");
    patch(&["verify"]).exits(0);
}

#[test]
fn cargo_builds_the_edit_and_then_what_was_there_before() {
    let Some(cargo) = tool("cargo") else { return };
    let world = world();
    world.write("tree/Cargo.toml", "[package]\nname = \"m\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    let source = "fn main() {\n    let rest = 1;\n    println!(\"{rest}\");\n}\n";
    let file = world.write("tree/src/main.rs", source);
    let run = || {
        let mut run = world.run(&cargo).args(["run", "-q", "--offline"]).cwd(&world.path("tree"));
        for name in ["RUSTUP_HOME", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "PATH"] {
            if let Some(value) = std::env::var_os(name) {
                run = run.env(name, value);
            }
        }
        if std::env::var_os("RUSTUP_HOME").is_none()
            && let Some(home) = std::env::var_os("HOME")
        {
            run = run.env("RUSTUP_HOME", PathBuf::from(&home).join(".rustup")).env("CARGO_HOME", PathBuf::from(&home).join(".cargo"));
        }
        run.run().exits(0).stdout
    };
    assert_eq!(run(), "1\n");
    let patch = |args: &[&str]| world.bystander(["patch"]).args(args).cwd(&world.path("tree")).run();
    patch(&["apply", "--file", "src/main.rs", "--pattern", "let rest = $X;", "--replace", "let rest = $X + 76;"]).exits(0);
    assert_eq!(run(), "77\n");
    patch(&["revert"]).exits(0);
    assert_eq!(fs::read_to_string(&file).expect("there"), source);
    let left = patch(&["verify", "--json"]).exits(1).json();
    assert!(left["problems"].as_array().expect("problems").iter().all(|problem| text(&problem["kind"]) == "build"), "{left:#}");
    assert_eq!(run(), "1\n", "what stands in the file is what is built");
    patch(&["verify"]).exits(0);
}
