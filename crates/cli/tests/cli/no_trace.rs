//! The example's tree after runs under the command and after the same program without it: there is no difference.

use std::path::Path;

use bystander_testkit::{LIMIT, Signal, Tree, World, python, until};

use crate::world::{assert_bytecode_is_of_its_source, assert_nothing_left, engine, python_world};

#[test]
fn the_tree_after_the_story_and_a_broken_print_is_the_tree_after_the_same_program_without_the_command() {
    let Some(world) = python_world() else { return };
    let engine = engine(&world);
    // The same launches by hand leave the bytecode that Python itself leaves.
    for level in ["--disable-custom-all-reduce", "--port=0"] {
        by_hand(&world, &engine, &["--mem-fraction-static", "0.55", level]);
    }
    by_hand(&world, &engine, &["--mem-fraction-static", "0.88"]);
    let before = Tree::of(&engine, |_| true);
    assert!(before.entries.keys().any(|path| path.extension().is_some_and(|extension| extension == "pyc")), "no bytecode was written");
    let state = world.path("state");
    for (file, code) in [("story.toml", 0), ("broken-print.toml", 0)] {
        world.bystander(["run", "--json", "--state"]).args([&state, &engine.join(file)]).run().exits(code);
    }
    let after = Tree::of(&engine, |_| true);
    // The bytecode too: what was valid before is there again as it was, and the folder has its time.
    assert_eq!(before.differences(&after), Vec::<String>::new());
    assert_bytecode_is_of_its_source(&world, &engine);
    assert_nothing_left(&world);
}

/// Runs the engine without the command, until it ends or is ready.
fn by_hand(world: &World, engine: &Path, args: &[&str]) {
    let python = python().expect("checked before");
    let command = world.run(&python.path).args(["-m", "engine", "--tp-size", "8"]).args(args).cwd(engine).env("PYTHONUNBUFFERED", "1");
    let mut running = command.start();
    until("the engine to end or to be ready", LIMIT, || running.has_ended() || running.output().contains("ready to roll"));
    running.signal(Signal::TERM);
    let _ = running.wait();
    until("the ranks to end", LIMIT, || world.processes().is_empty());
}
