//! A sample of A/A runs with real launches: a noisy program under two labels, through everything that a run goes through, many times.

use serde_json::Value;

use crate::world::{assert_nothing_left, text, trials, world};

/// Prints three numbers that vary by 5 % from launch to launch and rise by 1 % with each, and fails in one launch of five. What it draws depends on the
/// run's seed, the block and the launch alone, and on no label: its own generator (Lehmer, 16807), so that every awk draws the same.
const NOISY: &str = r#"
function draw() { x = (x * 16807) % 2147483647; return x / 2147483647 }
BEGIN {
    x = (substr(seed, length(seed) - 4) * 7919 + number * 104729) % 2147483646 + 1
    for (i = 0; i < 20; i++) draw()
    for (metric = 1; metric <= 3; metric++) {
        z = -6
        for (i = 0; i < 12; i++) z += draw()
        printf "m%d=%.6f\n", metric, 100 * exp(0.05 * z + 0.01 * number)
    }
    if (draw() < 0.2) { print "RuntimeError: bad luck" > "/dev/stderr"; exit 1 }
}
"#;

const RUNS: u64 = 40;

/// The least number of successes in `tries` at 0.05 each that come up in no more than this share of such samples.
fn beyond_chance(tries: u64, rare: f64) -> u64 {
    let chance = 0.05_f64;
    let mut term = (1.0 - chance).powf(tries as f64);
    let mut left = 1.0 - term;
    let mut successes = 0;
    while left > rare {
        term *= (tries - successes) as f64 / (successes + 1) as f64 * chance / (1.0 - chance);
        successes += 1;
        left -= term;
    }
    successes + 1
}

#[test]
fn the_bound_is_that_of_the_binomial() {
    assert_eq!([1, 10, 60, 180].map(|tries| beyond_chance(tries, 0.001)), [2, 5, 10, 20]);
}

/// Each comparison is made at 0.05. The times of launches are real, and so differ from one sample to the next; what the program draws does not.
#[test]
#[ignore = "four hundred launches: about a minute"]
fn of_many_runs_of_one_program_under_two_labels_few_find_a_difference() {
    let world = world();
    world.write("noisy.awk", NOISY);
    let file = world.write(
        "noisy.toml",
        "[program]\ncommand = ['awk', '-v', 'seed={seed}', '-v', 'number={number}', '-f', 'noisy.awk']\n\
         [metrics]\nm1 = { log = 'm1=(.+)' }\nm2 = { log = 'm2=(.+)' }\nm3 = { log = 'm3=(.+)' }\n\
         [plan]\nbaseline.instrument = 'none'\nblocks = 5\ndescribe = true\n",
    );
    let (mut drawn, mut timed, mut failing) = ([0_u64; 2], [0_u64; 2], [0_u64; 2]);
    for seed in 0..RUNS {
        let ran = world.bystander(["run", "--aa", "--json"]).args(["--seed".into(), seed.to_string()]).args([&file]).run();
        let report: Value = ran.json();
        let failed = trials(&report).iter().filter(|trial| trial["outcome"] == "failed").count() as u64;
        assert_eq!(trials(&report).len(), 10, "every block is run: {report:#}");
        let differing: Vec<&str> = report["aa"]["differing"].as_array().expect("a list").iter().map(text).collect();
        let of = |metric: &str| differing.contains(&metric);
        for answer in report["answers"].as_array().expect("answers") {
            let metric = text(&answer["metric"]);
            let tally = match metric {
                "wall_s" => &mut timed,
                "outcome" => &mut failing,
                _ => &mut drawn,
            };
            if metric == "outcome" || !answer["estimate"].is_null() {
                *tally = [tally[0] + 1, tally[1] + u64::from(of(metric))];
            }
        }
        assert!(failed <= 9, "seed {seed}: nearly all failed");
    }
    assert!(
        drawn[0] >= 3 * RUNS - 12 && timed[0] >= RUNS - 4 && failing[0] == RUNS,
        "too few were compared: {drawn:?} {timed:?} {failing:?}"
    );
    assert!(drawn[1] > 0, "a test that never finds one would not find a broken pipeline either");
    // What is drawn is the same in every sample; real times must not fail one in a million.
    for ([tries, found], rare) in [(drawn, 0.001), (failing, 0.001), (timed, 1e-6)] {
        assert!(found < beyond_chance(tries, rare), "{found} of {tries} at 0.05: drawn {drawn:?}, timed {timed:?}, outcomes {failing:?}");
    }
    assert_nothing_left(&world);
}
