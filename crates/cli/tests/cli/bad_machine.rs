//! Good experiment files on a machine that does not allow them: interpreters, ports, permissions, state directories.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bystander_testkit::{Mark, World, old_python, python, skip};

use crate::world::{assert_nothing_left, run, tree, world};

/// An experiment with a probe in a Python program.
const PROBED: &str = r#"
[program]
command = ["python3", "app.py"]
[[probes]]
name = "look"
at = "app:work"
capture = ["total"]
[plan]
baseline = { instrument = "none" }
blocks = 5
"#;

/// An experiment with an edit in a text file.
const EDITED: &str = r#"
[program]
command = ["sh", "-c", "cat text.txt"]
[[edits]]
name = "print"
file = "text.txt"
find = "middle\n"
insert_after = "added\n"
[plan]
baseline = { instrument = "none" }
blocks = 5
"#;

const APP: &str = "def work():\n    total = 1\n    return total\n\nwork()\n";

/// A folder that holds the named programs of this machine and nothing else.
fn programs(world: &World, names: &[&str]) -> PathBuf {
    let folder = world.path("bin");
    fs::create_dir_all(&folder).expect("a folder");
    for name in names {
        let path = std::env::var_os("PATH").expect("a PATH");
        let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
        std::os::unix::fs::symlink(found.expect("a program"), folder.join(name)).expect("a link");
    }
    folder
}

fn nothing_was_launched(folder: &Path) {
    let runs = fs::read_dir(folder.join(".bystander/runs")).map_or(0, Iterator::count);
    assert_eq!(runs, 0, "something was launched");
}

#[test]
fn a_probe_that_cannot_get_in_by_the_way_that_its_command_leaves_is_refused_before_the_launch() {
    let world = world();
    world.write("app.py", APP);
    for (command, at, delivery) in [(r#""python3", "-S""#, "app:work@return", "auto"), (r#""python3""#, "app:work@raise", "patch")] {
        let probed = PROBED
            .replace(r#""python3""#, command)
            .replace("app:work", at)
            .replace("capture", &format!("delivery = {delivery:?}\ncapture"));
        let file = world.write("probed.toml", probed.replace(r#"["total"]"#, "[]"));
        let refused = run(&world, &file).args(["--dry-run"]).run().exits(3);
        assert!(refused.stderr.contains("cannot get in"), "{at} by {delivery}: {}", refused.stderr);
    }
    nothing_was_launched(&world.path(""));
}

#[test]
fn a_missing_python_is_named_and_so_is_a_probe_in_a_program_that_is_none() {
    let world = world();
    let folder = world.path("case");
    world.write("case/app.py", APP);
    let file = world.write("case/case.toml", PROBED);
    let bin = programs(&world, &["sh"]);
    run(&world, &file).env("PATH", &bin).run().exits(3).says(&["`python3` cannot be run", "PATH"]);
    let shell = world.write("case/shell.toml", PROBED.replace(r#"["python3", "app.py"]"#, r#"["sh", "-c", "exit 0"]"#));
    run(&world, &shell).env("PATH", &bin).run().exits(3).says(&["look", "not run by a Python", "an edit works on any text file"]);
    nothing_was_launched(&folder);
    assert_nothing_left(&world);
}

#[test]
fn a_python_that_is_too_old_for_probes_is_refused_with_its_version() {
    let world = world();
    world.write("case/app.py", APP);
    let file = world.write("case/case.toml", PROBED);
    // Something that is called so and is none.
    let bin = programs(&world, &["sh"]);
    world.write_program("bin/python3", "#!/bin/sh\necho 'SyntaxError: invalid syntax' >&2\nexit 1\n");
    run(&world, &file).env("PATH", &bin).run().exits(3).says(&["places of probes could not be checked", "bin/python3", "3.8 or newer"]);
    // One that says of itself that it is old, and a real one where there is one.
    let Some(real) = python() else { return skip("no Python 3.8 or newer", Mark::Machine) };
    let claims = "import sys\nsys.version_info = (3, 7, 9, 'final', 0)\nat = sys.argv.index('-c')\ncode = sys.argv[at + 1]\nsys.argv = ['-c'] + sys.argv[at + 2:]\nexec(compile(code, '<string>', 'exec'), {'__name__': '__main__'})\n";
    fs::remove_file(bin.join("python3")).expect("a file");
    world.write("bin/python3", format!("#!{}\n{claims}", real.path.display()));
    fs::set_permissions(bin.join("python3"), fs::Permissions::from_mode(0o755)).expect("own file");
    run(&world, &file).env("PATH", &bin).run().exits(3).says(&["bin/python3", "3.7.9", "3.8 or newer"]);
    if let Some(old) = old_python() {
        fs::remove_file(bin.join("python3")).expect("a file");
        std::os::unix::fs::symlink(&old.path, bin.join("python3")).expect("a link");
        let version = format!("{}.{}", old.version.0, old.version.1);
        run(&world, &file).env("PATH", &bin).run().exits(3).says(&["bin/python3", &version, "3.8 or newer"]);
    }
    nothing_was_launched(&world.path("case"));
    assert_nothing_left(&world);
}

#[test]
fn a_fixed_port_that_somebody_holds_is_refused_and_the_holder_named() {
    let world = world();
    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = held.local_addr().expect("an address").port();
    let file = world.write(
        "case/case.toml",
        format!(
            "[program]\ncommand = [\"sh\", \"-c\", \"sleep 5\"]\nready = {{ http = \"http://127.0.0.1:{port}/health\" }}\n[factors.level]\none = {{ env = {{ L = \"1\" }} }}\ntwo = {{ env = {{ L = \"2\" }} }}\n[plan]\nbaseline = {{ level = \"one\" }}\nblocks = 4\n"
        ),
    );
    let own = format!("process {}", std::process::id());
    run(&world, &file).run().exits(3).says(&[&format!("port {port} is held by {own}"), "{port}"]);
    nothing_was_launched(&world.path("case"));
    assert_nothing_left(&world);
}

#[test]
fn a_read_only_file_is_refused_before_any_launch() {
    let world = world();
    let file = world.write("case/case.toml", EDITED);
    let target = world.write("case/text.txt", "first\nmiddle\nlast\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o444)).expect("own file");
    let before = tree(&world.path("case"));
    let ran = if is_root() {
        let Some(ran) = as_nobody(&world, &file) else { return };
        ran
    } else {
        run(&world, &file).run()
    };
    ran.exits(3).says(&["text.txt", "read-only for this user", "give this user the right to write", "case.toml:"]);
    assert_eq!(
        before.differences(&tree(&world.path("case"))).len(),
        before.entries.len() * usize::from(is_root()),
        "only the owner is another"
    );
    nothing_was_launched(&world.path("case"));
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let world = world();
    let pipe = world.path("case/text.txt");
    std::fs::create_dir_all(world.path("case")).expect("a folder");
    assert!(world.run(Path::new("mkfifo")).args([&pipe]).run().code == Some(0), "mkfifo");
    let file = world.write(
        "case/case.toml",
        "[program]\ncommand = [\"cat\", \"text.txt\"]\n[[edits]]\nname = \"print\"\nfile = \"text.txt\"\nfind = \"a\"\nreplace = \"b\"\n[plan]\nbaseline = { instrument = \"none\" }\nblocks = 5\n",
    );
    run(&world, &file).run().exits(3).says(&["it is not a regular file"]);
}

#[test]
fn a_state_directory_of_a_newer_version_is_left_alone() {
    let world = world();
    world.write("case/text.txt", "first\nmiddle\nlast\n");
    let file = world.write("case/case.toml", EDITED);
    run(&world, &file).run().exits(0);
    world.write("case/.bystander/format", "99\n");
    let before = bystander_testkit::Tree::of(&world.path("case"), |_| true);
    run(&world, &file).run().exits(4).says(&["format 99", "update bystander or choose another directory"]);
    world.bystander(["show", "--json"]).cwd(&world.path("case")).run().exits(4).says(&["format 99"]);
    world.bystander(["patch", "status"]).cwd(&world.path("case")).run().exits(4).says(&["format 99"]);
    assert_eq!(before.differences(&bystander_testkit::Tree::of(&world.path("case"), |_| true)), Vec::<String>::new());
    run(&world, &file).args(["--state"]).args([world.path("elsewhere")]).run().exits(0);
}

#[test]
fn a_record_of_a_newer_version_is_left_alone() {
    let world = world();
    world.write("case/text.txt", "first\nmiddle\nlast\n");
    let file = world.write("case/case.toml", EDITED);
    run(&world, &file).run().exits(0);
    let database = world.path("case/.bystander/record.sqlite");
    let mut bytes = fs::read(&database).expect("the record");
    // The version that SQLite keeps for its user, big-endian at byte 60.
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&database, &bytes).expect("the record");
    run(&world, &file).run().exits(4).says(&["9999"]);
    assert_eq!(fs::read(&database).expect("the record"), bytes);
}

#[test]
fn a_state_directory_that_cannot_be_written_is_refused_and_another_offered() {
    let world = world();
    world.write("case/text.txt", "first\nmiddle\nlast\n");
    let file = world.write("case/case.toml", EDITED);
    // A file where the directory would be: nobody may write there, whoever they are.
    world.write("taken", "");
    for state in ["taken", "taken/below"] {
        run(&world, &file).args(["--state"]).args([world.path(state)]).run().exits(4).says(&["state directory", "--state DIR"]);
    }
    // Somebody's own folder does not become one.
    world.write("own/precious.txt", "");
    run(&world, &file).args(["--state"]).args([world.path("own")]).run().exits(4).says(&["precious.txt"]);
    assert_eq!(fs::read_dir(world.path("own")).expect("a folder").count(), 1);
    assert_nothing_left(&world);
}

#[test]
fn without_a_home_there_is_no_registry_of_live_edits_and_nothing_is_edited() {
    let world = world();
    let target = world.write("case/text.txt", "first\nmiddle\nlast\n");
    let file = world.write("case/case.toml", EDITED);
    run(&world, &file).without("HOME").without("XDG_STATE_HOME").run().exits(4).says(&["registry of live edits", "set HOME"]);
    nothing_was_launched(&world.path("case"));
    assert_eq!(fs::read_to_string(target).expect("a file"), "first\nmiddle\nlast\n");
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Runs the file as a user without rights, who owns the world and a copy of the command.
fn as_nobody(world: &World, file: &Path) -> Option<bystander_testkit::Ran> {
    const NOBODY: u32 = 65534;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let Some(setpriv) = std::env::split_paths(&path).map(|folder| folder.join("setpriv")).find(|file| file.is_file()) else {
        skip("root can write everything, and there is no setpriv to be somebody else", Mark::Machine);
        return None;
    };
    let command = world.path("bystander");
    fs::copy(env!("CARGO_BIN_EXE_bystander"), &command).expect("a copy of the command");
    give(&world.path(""), NOBODY);
    let ids = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    Some(world.run(&setpriv).args(ids).args([&command]).args(["run", "--json"]).args([file]).env("PATH", "/usr/bin:/bin").run())
}

fn give(path: &Path, to: u32) {
    std::os::unix::fs::lchown(path, Some(to), Some(to)).expect("root gives");
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            give(&entry.path(), to);
        }
    }
}
