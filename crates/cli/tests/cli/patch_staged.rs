//! `patch verify --staged` as a pre-commit hook of real git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bystander_testkit::{Mark, World, skip};

use crate::world::world;

const SOURCE: &str = "x = 1\n";

fn git_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("git")).find(|path| path.is_file())
}

struct Repository {
    world: World,
    git: PathBuf,
}

impl Repository {
    fn new() -> Option<Self> {
        let Some(git) = git_path() else {
            skip("there is no git", Mark::Machine);
            return None;
        };
        let repository = Self { world: world(), git };
        fs::create_dir(repository.folder()).expect("created");
        repository.git(&["init", "-q"], 0);
        for (key, value) in [("user.name", "n"), ("user.email", "e@example.com"), ("commit.gpgsign", "false")] {
            repository.git(&["config", key, value], 0);
        }
        Some(repository)
    }

    fn folder(&self) -> PathBuf {
        self.world.path("tree")
    }

    fn git(&self, args: &[&str], code: i32) -> bystander_testkit::Ran {
        self.world.run(&self.git).args(args).cwd(&self.folder()).run().exits(code)
    }

    fn staged(&self, code: i32) -> bystander_testkit::Ran {
        self.world.bystander(["patch", "verify", "--staged"]).cwd(&self.folder()).run().exits(code)
    }

    fn apply(&self, file: &OsStr) {
        let args =
            [OsStr::new("--file"), file, OsStr::new("--find"), OsStr::new("x = 1"), OsStr::new("--insert-after"), OsStr::new("print(x)")];
        self.world.bystander(["patch", "apply"]).args(args).cwd(&self.folder()).run().exits(0);
    }

    fn write(&self, name: &OsStr, text: &str) {
        fs::write(self.folder().join(name), text).expect("written");
    }
}

#[test]
fn what_is_staged_counts_and_not_what_lies_in_the_tree() {
    let Some(repository) = Repository::new() else { return };
    repository.staged(0);
    let plain = OsStr::new("a file.py");
    let odd = OsStr::from_bytes(b"caf\xe9\n.py");
    for name in [plain, odd] {
        repository.write(name, SOURCE);
    }
    repository.git(&["add", "-A"], 0);
    repository.staged(0);
    repository.apply(plain);
    repository.staged(0);
    repository.apply(odd);
    repository.git(&["add", "-A"], 0);
    let found = repository.staged(1);
    assert!(found.stdout.contains("a file.py") && found.stdout.contains("2 edits in what is staged"), "{}", found.stdout);
    // The tree is clean again, the index is not.
    repository.world.bystander(["patch", "revert", "--all"]).cwd(&repository.folder()).run().exits(0);
    repository.staged(1);
    repository.git(&["add", "-A"], 0);
    repository.staged(0);
    repository.git(&["commit", "-qm", "first"], 0);
    // Renames and deletions are no edits, a mark in a renamed file is.
    repository.git(&["mv", "a file.py", "b.py"], 0);
    repository.staged(0);
    repository.apply(OsStr::new("b.py"));
    repository.git(&["add", "b.py"], 0);
    repository.staged(1);
    repository.world.bystander(["patch", "revert", "--all"]).cwd(&repository.folder()).run().exits(0);
    repository.git(&["add", "-A"], 0);
    repository.git(&["rm", "-q", "--cached", "b.py"], 0);
    repository.staged(0);
}

#[test]
fn the_documented_hook_refuses_the_commit() {
    let Some(repository) = Repository::new() else { return };
    repository.write(OsStr::new("m.py"), SOURCE);
    repository.git(&["add", "m.py"], 0);
    let hook = format!("#!/bin/sh\nexec '{}' patch verify --staged\n", env!("CARGO_BIN_EXE_bystander"));
    let path = repository.world.write_program("tree/.git/hooks/pre-commit", &hook);
    assert!(Path::new(&path).is_file());
    repository.git(&["commit", "-qm", "clean"], 0);
    repository.apply(OsStr::new("m.py"));
    // `commit -a` has an index of its own, which the hook is told of.
    repository.git(&["commit", "-qam", "with an edit"], 1);
    repository.world.bystander(["patch", "revert", "--all"]).cwd(&repository.folder()).run().exits(0);
    repository.write(OsStr::new("m.py"), "x = 2\n");
    repository.git(&["commit", "-qam", "without"], 0);
}

#[test]
fn an_edit_without_a_mark_is_found_by_its_text_and_a_submodule_is_left_alone() {
    let Some(repository) = Repository::new() else { return };
    repository.write(OsStr::new("notes.txt"), SOURCE);
    repository.git(&["add", "-A"], 0);
    repository.git(&["commit", "-qm", "first"], 0);
    repository.apply(OsStr::new("notes.txt"));
    repository.git(&["add", "notes.txt"], 0);
    repository.staged(1).says(&[]);
    repository.world.bystander(["patch", "revert", "--all"]).cwd(&repository.folder()).run().exits(0);
    repository.git(&["add", "notes.txt"], 0);
    // A submodule in the index is the name of a commit, which is not here.
    repository.git(&["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub"], 0);
    repository.staged(0);
    repository.world.bystander(["patch", "verify", "--staged"]).cwd(&repository.world.path("home")).run().exits(3).says(&["git"]);
}

#[test]
fn what_is_staged_is_all_that_is_spoken_of() {
    let Some(repository) = Repository::new() else { return };
    repository.write(OsStr::new("m.py"), SOURCE);
    repository.git(&["add", "-A"], 0);
    repository.git(&["commit", "-qm", "first"], 0);
    repository.apply(OsStr::new("m.py"));
    let clean = repository.staged(0);
    assert_eq!(clean.stdout.trim(), "Clean: no edit is staged.", "an edit is live, and it is not staged");
    // Its mark is gone, its text is not.
    repository.write(OsStr::new("m.py"), "x = 1; print(x)\n");
    repository.git(&["add", "-A"], 0);
    let found = repository.staged(1);
    assert!(found.stdout.contains("1 edit in what is staged") && found.stdout.contains("bystander patch revert"), "{}", found.stdout);
    repository.write(OsStr::new("m.py"), SOURCE);
    // A document may quote a mark, which no journal knows.
    let quoted = format!("A mark looks like bystander-{}.\n", "patch-0123456789ab");
    repository.write(OsStr::new("notes.md"), &quoted);
    repository.git(&["add", "-A"], 0);
    let found = repository.staged(1);
    assert!(found.stdout.contains("holds the mark of edit") && !found.stdout.contains("patch revert"), "{}", found.stdout);
}
