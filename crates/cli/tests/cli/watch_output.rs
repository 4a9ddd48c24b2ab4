//! Where hits go with `--output`, and what stays as it is beside them: the program's streams, and Pythons that are too old for probes.

use std::path::Path;

use bystander_testkit::{Mark, old_python, skip};

use crate::world::{assert_nothing_left, python_world};

#[test]
fn a_device_or_a_pipe_takes_hits_as_it_is() {
    let Some(world) = python_world() else { return };
    world.write("app.py", "def f(i):\n    return i\nprint('own', f(7))\n");
    let inner =
        format!("{} watch --json -p 'app.py:2 {{i}}' --output /dev/stdout -- python3 app.py | cat", env!("CARGO_BIN_EXE_bystander"));
    let ran = world.run(Path::new("/bin/sh")).args(["-c", &inner]).run().exits(0);
    assert!(ran.stdout.contains("\"i\":7") && ran.stdout.contains("own 7"), "{}", ran.stdout);
    world.bystander(["watch", "-p", "app.py:2 {i}", "--output", "/dev/null", "--", "python3", "app.py"]).run().exits(0);
    assert_nothing_left(&world);
}

#[test]
fn a_python_that_is_too_old_runs_as_if_nothing_was_there() {
    let Some(world) = python_world() else { return };
    let Some(old) = old_python() else { return skip("there is no Python older than 3.8", Mark::Machine) };
    let exe = old.path.to_str().expect("text");
    world.write("own/sitecustomize.py", "print('own sitecustomize')\n");
    world.write("child.py", "import sys\nprint(sorted(name for name in sys.modules if 'bystander' in name))\nprint(len(sys.path))\n");
    world.write(
        "app.py",
        "import os, subprocess, sys\n\ndef f(i):\n    return i\n\nf(1)\nchild = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, \
         stderr=subprocess.STDOUT)\nprint(child.returncode, child.stdout)\n",
    );
    for own in ["", "own"] {
        let own = if own.is_empty() { String::new() } else { world.path(own).display().to_string() };
        let bare = world.run(Path::new("python3")).env("PYTHONPATH", &own).args(["app.py", exe, "child.py"]).run().exits(0);
        let out = world.path("hits.jsonl");
        let run = world.bystander(["watch", "-p", "app:f", "--output"]).args([&out]).args(["--", "python3", "app.py", exe, "child.py"]);
        let ran = run.env("PYTHONPATH", &own).run();
        assert_eq!(ran.stdout, bare.stdout, "{}", ran.stderr);
        std::fs::remove_file(&out).expect("hits");
    }
    assert_nothing_left(&world);
}
