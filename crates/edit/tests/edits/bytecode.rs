//! Real interpreters next to an edit: the edit is active while it is on disk, and nothing of it runs afterwards.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use bystander_edit::Action;
use bystander_model::patch::ProblemKind;

use crate::world::{World, edit, names, prepared, snapshot};

const ORIGINAL: &str = "def f(x):\n    return x + 1   #----\n";
const EDITED_LINE: &str = "    return x + 999 #----\n";

/// The interpreters on this machine, one for each minor version; at least one is needed.
fn pythons() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let pyenv = env::var_os("PYENV_ROOT").map(PathBuf::from).or_else(|| env::home_dir().map(|home| home.join(".pyenv")));
    let versions = pyenv.and_then(|root| fs::read_dir(root.join("versions")).ok());
    folders.splice(0..0, versions.into_iter().flatten().flatten().map(|version| version.path().join("bin")));
    let mut found = Vec::new();
    for minor in 8..=14 {
        let name = format!("python3.{minor}");
        let works = |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|output| output.status.success());
        found.extend(folders.iter().map(|folder| folder.join(&name)).filter(|path| path.is_file()).find(works));
    }
    if found.is_empty() {
        found.push(PathBuf::from("python3"));
    }
    found
}

/// Runs the module in a fresh interpreter and gives what it prints.
fn run(python: &Path, folder: &Path) -> String {
    run_with(python, folder, &["-c", "import m; print(m.f(0))"])
}

fn run_with(python: &Path, folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(python);
    for name in ["PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONOPTIMIZE"] {
        command.env_remove(name);
    }
    let output = command.args(arguments).current_dir(folder).output().expect("python3 is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn replacement(file: &Path) -> bystander_edit::EditSpec {
    edit(file, "    return x + 1   #----\n", Action::Replace(EDITED_LINE.into()))
}

fn set_mtime(file: &Path, time: SystemTime) {
    fs::File::open(file).and_then(|file| file.set_modified(time)).expect("own file");
}

/// Case A and G: edit, run, undo and run within a second, with a size that stays the same.
#[test]
fn an_edit_of_the_same_size_within_one_second_is_active_and_then_gone() {
    for python in pythons() {
        let world = World::new();
        let file = world.write("m.py", ORIGINAL);
        let journal = world.journal();
        for round in 0..3 {
            set_mtime(&file, SystemTime::now());
            let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
            assert_eq!(run(&python, &world.tree()), "999", "{}, round {round}", python.display());
            let done = journal.revert(&id).expect("reverted");
            assert_eq!((done.exact, done.bytecode_removed.len()), (true, 1), "{}, round {round}", python.display());
            assert_eq!(names(&world.tree()), ["m.py"], "the folder came with the edit");
            assert_eq!(run(&python, &world.tree()), "1", "{}, round {round}", python.display());
            assert_eq!(run(&python, &world.tree()), "1", "{}, round {round}", python.display());
            fs::remove_dir_all(world.tree().join("__pycache__")).expect("removed");
        }
        assert_eq!(journal.verify().expect("read"), []);
    }
}

/// Case D: the user's edit, a run and our edit within one second. Bytecode of the original is there and looks valid.
#[test]
fn an_edit_in_the_second_of_the_users_own_is_active_and_bytecode_of_the_original_comes_back() {
    for python in pythons() {
        let world = World::new();
        let file = world.write("m.py", ORIGINAL);
        set_mtime(&file, SystemTime::now());
        assert_eq!(run(&python, &world.tree()), "1");
        let cache = world.tree().join("__pycache__").join(&names(&world.tree().join("__pycache__"))[0]);
        let before = (snapshot(&file), snapshot(&cache));
        let journal = world.journal();
        let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
        assert_eq!(run(&python, &world.tree()), "999", "{}", python.display());
        assert_ne!(snapshot(&cache).bytes, before.1.bytes, "the interpreter wrote its own");
        journal.revert(&id).expect("reverted");
        let after = (snapshot(&file), snapshot(&cache));
        assert_eq!((after.0.bytes, after.0.mtime), (before.0.bytes, before.0.mtime));
        assert_eq!((after.1.bytes, after.1.mtime), (before.1.bytes, before.1.mtime), "{}", python.display());
        assert_eq!(run(&python, &world.tree()), "1", "{}", python.display());
    }
}

/// Case B and C: an old file whose time the undo gives back.
#[test]
fn the_old_time_after_the_undo_does_not_bring_the_edited_code_back() {
    for python in pythons() {
        let world = World::new();
        let file = world.write("m.py", ORIGINAL);
        set_mtime(&file, UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000));
        assert_eq!(run(&python, &world.tree()), "1");
        let journal = world.journal();
        let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
        assert_eq!(run(&python, &world.tree()), "999", "{}", python.display());
        journal.revert(&id).expect("reverted");
        assert_eq!(run(&python, &world.tree()), "1", "{}", python.display());
    }
}

/// Bytecode by hash: checked, unchecked, of the original and of the edited text.
#[test]
fn bytecode_by_hash_neither_hides_the_edit_nor_outlives_it() {
    for python in pythons() {
        for mode in ["CHECKED_HASH", "UNCHECKED_HASH"] {
            let world = World::new();
            let file = world.write("m.py", ORIGINAL);
            let compile = format!("import py_compile; py_compile.compile('m.py', invalidation_mode=py_compile.PycInvalidationMode.{mode})");
            run_with(&python, &world.tree(), &["-c", &compile]);
            let cache = world.tree().join("__pycache__").join(&names(&world.tree().join("__pycache__"))[0]);
            let before = snapshot(&cache);
            let journal = world.journal();
            let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
            assert_eq!(run(&python, &world.tree()), "999", "{}, {mode}", python.display());
            run_with(&python, &world.tree(), &["-c", &compile]);
            let done = journal.revert(&id).expect("reverted");
            assert_eq!(done.bytecode_removed, std::slice::from_ref(&cache), "{}, {mode}", python.display());
            let after = snapshot(&cache);
            assert_eq!((after.bytes, after.mtime), (before.bytes, before.mtime), "{}, {mode}", python.display());
            assert_eq!(run(&python, &world.tree()), "1", "{}, {mode}", python.display());
        }
    }
}

/// A stack: the undo of the upper edit removes bytecode, the undo of the lower one gives back that of the original.
#[test]
fn the_bytecode_of_the_original_comes_back_from_under_a_stack() {
    let python = pythons().remove(0);
    let world = World::new();
    let file = world.write("m.py", ORIGINAL);
    assert_eq!(run(&python, &world.tree()), "1");
    let cache = world.tree().join("__pycache__").join(&names(&world.tree().join("__pycache__"))[0]);
    let before = snapshot(&cache);
    let journal = world.journal();
    journal.apply(&prepared(&replacement(&file)), "run").expect("applied");
    journal.apply(&prepared(&edit(&file, "999", Action::Replace("777".into()))), "run").expect("applied");
    assert_eq!(run(&python, &world.tree()), "777");
    assert_eq!(journal.revert_all().expect("read").reverted.len(), 2);
    assert_eq!((snapshot(&cache).bytes, snapshot(&cache).mtime), (before.bytes, before.mtime));
    assert_eq!(run(&python, &world.tree()), "1");
}

/// Bytecode of other modules, and bytecode of the original that a run of the edit did not touch.
#[test]
fn bytecode_that_is_not_the_edits_is_left_alone() {
    let python = pythons().remove(0);
    let world = World::new();
    let file = world.write("m.py", ORIGINAL);
    world.write("mm.py", "x = 1\n");
    run_with(&python, &world.tree(), &["-c", "import m, mm"]);
    run_with(&python, &world.tree(), &["-O", "-c", "import m"]);
    let cache = world.tree().join("__pycache__");
    let before: Vec<_> = names(&cache).iter().map(|name| (name.clone(), snapshot(&cache.join(name)).bytes)).collect();
    assert_eq!(before.len(), 3);
    let journal = world.journal();
    let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
    assert_eq!(run(&python, &world.tree()), "999");
    journal.revert(&id).expect("reverted");
    let after: Vec<_> = names(&cache).iter().map(|name| (name.clone(), snapshot(&cache.join(name)).bytes)).collect();
    assert_eq!(after, before);
}

/// Case E and F: a size that differs; an edited run that writes no bytecode, or writes it elsewhere.
#[test]
fn an_edit_of_another_size_and_runs_that_keep_their_bytecode_elsewhere_leave_nothing() {
    for python in pythons() {
        for (variable, value) in [(None, ""), (Some("PYTHONDONTWRITEBYTECODE"), "1"), (Some("PYTHONPYCACHEPREFIX"), "elsewhere")] {
            let world = World::new();
            let file = world.write("m.py", ORIGINAL);
            assert_eq!(run(&python, &world.tree()), "1");
            let journal = world.journal();
            let longer = edit(&file, "    return x + 1   #----\n", Action::Replace("    return x + 999 #------\n".into()));
            let id = journal.apply(&prepared(&longer), "run").expect("applied").id;
            let mut edited = Command::new(&python);
            for name in ["PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONPATH", "PYTHONHOME", "PYTHONOPTIMIZE"] {
                edited.env_remove(name);
            }
            edited.envs(variable.map(|name| (name, value))).args(["-c", "import m; print(m.f(0))"]).current_dir(world.tree());
            assert_eq!(edited.output().expect("started").stdout, b"999\n", "{}, {variable:?}", python.display());
            journal.revert(&id).expect("reverted");
            for round in 0..2 {
                assert_eq!(run(&python, &world.tree()), "1", "{}, {variable:?}, round {round}", python.display());
            }
            assert_eq!(journal.verify().expect("read"), [], "{}, {variable:?}", python.display());
        }
    }
}

/// Bytecode that claims to be of the source and is not: its header is right, and only the interpreter can tell.
#[test]
fn bytecode_with_the_right_header_and_the_wrong_code_is_found_by_its_interpreter() {
    for python in pythons() {
        let world = World::new();
        let file = world.write("m.py", ORIGINAL);
        let journal = world.journal();
        let id = journal.apply(&prepared(&replacement(&file)), "run").expect("applied").id;
        assert_eq!(run(&python, &world.tree()), "999");
        let cache = world.tree().join("__pycache__");
        let cached = cache.join(names(&cache).remove(0));
        let poisoned = fs::read(&cached).expect("there");
        journal.revert(&id).expect("reverted");
        assert_eq!(run(&python, &world.tree()), "1");
        assert_eq!(journal.verify().expect("read"), [], "{}", python.display());
        let header = fs::read(&cached).expect("made again")[..16].to_vec();
        fs::write(&cached, [&header, &poisoned[16..]].concat()).expect("written");
        assert_eq!(run(&python, &world.tree()), "999", "the interpreter believes the header");
        let problems = journal.verify().expect("read");
        assert_eq!(
            problems.iter().map(|problem| (problem.kind, problem.file.clone())).collect::<Vec<_>>(),
            [(ProblemKind::Bytecode, cached)]
        );
    }
}
