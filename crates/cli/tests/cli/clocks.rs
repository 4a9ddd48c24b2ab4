//! A machine whose clocks are not those that the kernel started with.

use bystander_testkit::{Mark, skip};

use crate::world::{assert_nothing_left, trials, world};

/// A day.
const LATER: &str = "86400";

#[test]
fn in_a_namespace_of_time_a_trial_takes_as_long_as_it_takes() {
    let world = world();
    let inside = ["--user", "--map-root-user", "--time", "--fork", "--monotonic", LATER, "--boottime", LATER];
    let unshare = std::path::Path::new("unshare");
    let Ok(allowed) = std::process::Command::new(unshare).args(inside).arg("true").output() else {
        return skip("there is no `unshare`", Mark::Machine);
    };
    if !allowed.status.success() {
        return skip("namespaces of time are not allowed here", Mark::Machine);
    }
    let text = "[program]\ncommand = ['sh', '-c', 'echo up; sleep 1; exit 0']\nready = { log = 'up' }\ntimeout = '60s'\n[plan]\nblocks = 2\ndescribe = true\n";
    let file = world.write("case/case.toml", text);
    let ran = world.run(unshare).args(inside).args([env!("CARGO_BIN_EXE_bystander"), "run", "--json"]).args([&file]).run().exits(0);
    let report = ran.json();
    assert_eq!(trials(&report).len(), 2, "{report:#}");
    for trial in trials(&report) {
        assert_eq!(trial["outcome"], "completed", "{trial:#}");
        let (ready, wall) = (trial["ready_s"].as_f64().expect("was ready"), trial["wall_s"].as_f64().expect("ended"));
        assert!((0.0..30.0).contains(&ready) && (1.0..60.0).contains(&wall), "ready at {ready}, over at {wall}");
    }
    assert_nothing_left(&world);
}
