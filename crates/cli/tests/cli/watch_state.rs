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
fn a_run_that_is_not_there_names_the_newest() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f():\n    return 1\nf()\n");
    world.bystander(["watch", "-p", "app:f", "--", "python3", "app.py"]).run().exits(0);
    world.bystander(["show", "nope"]).run().exits(3).says(&["find the run \"nope\"", "the newest is watch-", "without an id prints it"]);
}

#[test]
fn a_moment_that_never_came_is_said_as_itself() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f():\n    return 1\nf()\n");
    let ran = world.bystander(["watch", "-p", "app:f@raise", "--", "python3", "app.py"]).run().exits(0);
    ran.says(&["no exception left it"]);
}
