//! What `patch apply` says where the machine or others stand in the way; nothing is lost.

use std::fs;
use std::path::PathBuf;

use bystander_testkit::{Mark, skip};

use crate::world::{assert_nothing_left, world};

const SOURCE: &str = "x = 1\n";

fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[test]
fn a_read_only_file_system_is_named_and_nothing_is_made() {
    let Some(unshare) = tool("unshare") else { return skip("there is no unshare", Mark::Machine) };
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let (folder, command, state) = (world.path("tree"), env!("CARGO_BIN_EXE_bystander"), world.path("state"));
    let mount = format!("mount --bind {0} {0} && mount -o remount,ro,bind {0} || exit 77", folder.display());
    let apply =
        format!("'{command}' patch apply --state {} --file {}/app.py --find 'x = 1' --replace 'x = 2'", state.display(), folder.display());
    let ran = world.run(&unshare).args(["-Urm", "sh", "-c", &format!("{mount}; {apply}")]).run();
    if !ran.stderr.contains("edit.") {
        return skip("this machine mounts nothing for a test", Mark::Machine);
    }
    ran.exits(3).says(&["read-only"]);
    assert_eq!(fs::read_to_string(file).expect("there"), SOURCE);
    assert_nothing_left(&world);
}

#[test]
fn a_journal_of_a_newer_version_is_refused_and_nothing_is_changed() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let apply = || {
        world
            .bystander(["patch", "apply", "--file", "app.py", "--find", "x = 1", "--insert-after", "print(x)"])
            .cwd(&world.path("tree"))
            .run()
    };
    apply().exits(0);
    world.bystander(["patch", "revert"]).cwd(&world.path("tree")).run().exits(0);
    fs::write(world.path("tree/.bystander/edits/format"), "99\n").expect("written");
    apply().exits(4).says(&["format 99"]);
    assert_eq!(fs::read_to_string(file).expect("there"), SOURCE);
}

#[test]
fn the_edit_of_another_user_is_not_built_upon() {
    if !rustix_is_root() {
        return skip("only the superuser can be two users", Mark::Superuser);
    }
    let Some(setpriv) = tool("setpriv") else { return skip("there is no setpriv", Mark::Machine) };
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    // The other user reaches the file and owns it; the superuser may edit it too.
    for (path, mode) in [("tree", 0o777), ("tree/app.py", 0o666)] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(world.path(path), fs::Permissions::from_mode(mode)).expect("own file");
    }
    use std::os::unix::fs::PermissionsExt;
    let reachable =
        file.ancestors().skip(1).all(|folder| fs::metadata(folder).is_ok_and(|folder| folder.permissions().mode() & 0o001 != 0));
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_bystander"));
    let home = world.path("tree/home");
    fs::create_dir(&home).expect("created");
    std::os::unix::fs::chown(&home, Some(65_533), Some(65_533)).expect("superuser");
    std::os::unix::fs::chown(&file, Some(65_533), Some(65_533)).expect("superuser");
    world
        .bystander(["patch", "apply", "--file", "app.py", "--find", "x = 1", "--insert-after", "print(x)"])
        .cwd(&world.path("tree"))
        .run()
        .exits(0);
    let copy = home.join("bystander");
    fs::copy(&binary, &copy).expect("copied");
    if !reachable {
        return skip("the temporary folder is closed to other users", Mark::Machine);
    }
    let other = |args: &[&str]| {
        let mut words = vec!["--reuid=65533", "--regid=65533", "--clear-groups"];
        let copy = copy.to_str().expect("text");
        words.push(copy);
        words.extend(args);
        world.run(&setpriv).args(&words).env("HOME", &home).without("XDG_STATE_HOME").cwd(&home).run()
    };
    let file_text = file.display().to_string();
    let before = fs::read_to_string(&file).expect("there");
    other(&["patch", "apply", "--file", &file_text, "--find", "x = 1", "--insert-after", "print(-x)", "--state", "own"])
        .exits(4)
        .says(&["none of this user's"]);
    assert_eq!(fs::read_to_string(&file).expect("there"), before);
    let state = world.path("tree/.bystander").display().to_string();
    assert_ne!(other(&["patch", "revert", "--state", &state]).code, Some(0), "the journal is not theirs");
    world.bystander(["patch", "revert"]).cwd(&world.path("tree")).run().exits(0);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE);
}

fn rustix_is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn an_answer_that_does_not_arrive_is_told_with_the_ids_that_are_live() {
    if !std::path::Path::new("/dev/full").exists() {
        return skip("there is no /dev/full", Mark::Machine);
    }
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    let shell = tool("sh").expect("a shell");
    let line =
        format!("'{}' patch apply --file app.py --find 'x = 1' --insert-after 'print(x)' > /dev/full", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(&shell).args(["-c", &line]).cwd(&world.path("tree")).run().exits(4);
    let text = fs::read_to_string(&file).expect("there");
    let id = text.split("bystander-patch-").nth(1).expect("a mark").trim();
    ran.says(&[&format!("the edits are made and live: {id}"), &format!("next: bystander patch revert {id}")]);
    world.bystander(["patch", "revert", &id[..6]]).cwd(&world.path("tree")).run().exits(0);
    assert_nothing_left(&world);
}

#[test]
fn a_file_that_is_named_twice_is_edited_once() {
    let world = world();
    let file = world.write("tree/app.py", SOURCE);
    std::os::unix::fs::symlink("app.py", world.path("tree/link.py")).expect("linked");
    fs::hard_link(&file, world.path("tree/hard.py")).expect("linked");
    let files = ["--file", "app.py", "--file", "./app.py", "--file", "link.py", "--file", "hard.py"];
    let made = world
        .bystander(["patch", "apply", "--find", "x = 1", "--insert-after", "print(x)", "--json"])
        .args(files)
        .cwd(&world.path("tree"))
        .run()
        .exits(0)
        .json();
    assert_eq!(made["edits"].as_array().expect("edits").len(), 1);
    assert_eq!(fs::read_to_string(&file).expect("there").matches("print(x)").count(), 1);
    world.bystander(["patch", "revert"]).cwd(&world.path("tree")).run().exits(0);
    assert_eq!(fs::read_to_string(&file).expect("there"), SOURCE);
}

#[test]
fn what_is_refused_says_the_next_step() {
    let world = world();
    world.write("tree/app.c", "int f(int x) {\n  if (x)\n    return x + 1;\n  return g(x);\n}\nint h(int x) { return g(x); }\n");
    let apply = |args: &[&str]| world.bystander(["patch", "apply"]).args(args).cwd(&world.path("tree")).run().exits(3);
    let with = |find: &str, text: &str| apply(&["--file", "app.c", "--find", find, "--insert-before", text]);
    with("return x + 1;", "log_it(x);").says(&["without braces", "put braces around it", "--unchecked"]);
    with("g(x)", "y").says(&["more than once", "--all-matches"]);
    for pattern in ["...", "$$$", "$X;"] {
        apply(&["--file", "app.c", "--pattern", pattern, "--replace", "y"]).says(&["nothing but holes"]);
    }
    apply(&["--file", "app.c", "--pattern", "g($X)", "--replace", "y"]).says(&["pattern longer"]);
    apply(&["--file", "none.c", "--find", "a", "--replace", "b"]).says(&["correct --file", "working directory"]);
    apply(&["--file", ".", "--find", "a", "--replace", "b"]).says(&["name a regular file"]);
    world.bystander(["patch", "verify", "/nonexistent"]).cwd(&world.path("tree")).run().exits(3).says(&["next: name a folder"]);
    assert_nothing_left(&world);
}
