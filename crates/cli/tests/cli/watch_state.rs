//! What is said where the record that `show`, `patch` or `watch` needs is not there.

use crate::world::{python_world, world};

#[test]
fn a_record_that_is_not_there_is_said_in_words_that_fit_every_verb() {
    let world = world();
    for verb in [&["show"][..], &["patch", "status"], &["patch", "revert"]] {
        let ran = world.bystander(verb.iter().copied()).args(["--state", "nosuch"]).run().exits(3);
        ran.says(&["nothing was recorded there", "`run` keeps its state", "`watch` and `patch apply`"]);
    }
    world.bystander(["show"]).run().exits(3).says(&["failed to find a state directory", "--state DIR"]);
}

#[test]
fn a_run_that_is_not_there_names_the_newest_or_what_comes_near() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f():\n    return 1\nf()\n");
    world.bystander(["watch", "-p", "app:f", "--", "python3", "app.py"]).run().exits(0);
    world.bystander(["show", "nope"]).run().exits(3).says(&[
        "is named \"nope\"",
        "no id here comes near to it",
        "prints the newest, watch-",
    ]);
    let runs = std::fs::read_dir(world.path(".bystander/runs")).expect("the runs").filter_map(Result::ok);
    let id = runs.map(|run| run.file_name().to_string_lossy().into_owned()).next().expect("a run");
    let slip = format!("{}x", &id[..id.len() - 1]);
    for typed in [slip.replace("watch", "wathc"), "wacth".to_owned(), id[6..14].to_owned()] {
        let ran = world.bystander(["show", &typed]).run().exits(3);
        ran.says(&["near to it:", &format!("\n    {id}  finished"), "show --list"]);
    }
}

#[test]
fn a_moment_that_never_came_is_said_as_itself() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f():\n    return 1\nf()\n");
    let ran = world.bystander(["watch", "-p", "app:f@raise", "--", "python3", "app.py"]).run().exits(0);
    ran.says(&["no exception left it"]);
}
