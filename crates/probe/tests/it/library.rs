//! Any module of the standard library, probed wherever it can be, runs its own tests as without: each test ends as it did.
//!
//! The modules are chosen at random. One counts where two runs without probes agree and take less than the limit; a difference counts
//! where it comes again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bystander_model::probe::{Moment, Place, ProbeSpec};
use bystander_probe::{CheckedProbe, Choice, Drain, FilePlaces, check, list_places};
use bystander_testkit::{Dice, Mark, skip};

use crate::world::{Python, World, on_each};

/// So many candidates are looked at for each module that counts.
const TRIES: usize = 12;
/// So many probes go into a module.
const PROBES: usize = 80;

/// The modules with a test of the same name, by a question that imports none of them; those that a bare start has loaded cannot be probed.
const CANDIDATES: &str = "\
import importlib.util, os, sys, test
loaded = set(sys.modules)
for name in sorted(os.listdir(os.path.dirname(test.__file__))):
    module, kind = os.path.splitext(name[5:])
    if name.startswith('test_') and kind in ('', '.py') and module not in loaded:
        try:
            spec = importlib.util.find_spec(module)
        except Exception:
            continue
        if spec is not None and (spec.origin or '').endswith('.py') and spec.submodule_search_locations is None:
            print(module, spec.origin)
";

#[test]
fn a_module_of_the_standard_library_passes_its_tests_with_probes_all_over_it() {
    on_each(|python| hold(python, 1, 10));
}

#[test]
#[ignore = "slow: three modules on every Python"]
fn many_modules_of_the_standard_library_pass_their_tests_with_probes_all_over_them() {
    on_each(|python| hold(python, 3, 20));
}

/// Tries so many modules of one Python, those whose tests take less than `limit_s` seconds.
fn hold(python: &Python, modules: usize, limit_s: u64) {
    let mut dice = Dice::new(&format!("library 3.{}", python.minor));
    let candidates = candidates(python);
    if candidates.is_empty() {
        skip(&format!("Python 3.{} ships no tests (Debian: libpython3-testsuite)", python.minor), Mark::Machine);
        return;
    }
    let mut done = 0;
    for _ in 0..modules * TRIES {
        let (module, path) = &candidates[usize::try_from(dice.below(candidates.len() as u64)).expect("small")];
        done += usize::from(holds(&Trial { python, module, limit_s }, path, &mut dice));
        if done == modules {
            return;
        }
    }
    assert!(done > 0, "no module of Python 3.{} could be tried", python.minor);
}

/// The tests of one module on one Python.
struct Trial<'t> {
    python: &'t Python,
    module: &'t str,
    limit_s: u64,
}

fn candidates(python: &Python) -> Vec<(String, PathBuf)> {
    let world = World::new(python, &[("empty", "")]);
    let said = world.run_plain(&["-c", CANDIDATES]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    said.lines().filter_map(|line| line.split_once(' ')).map(|(module, path)| (module.to_owned(), path.into())).collect()
}

/// Tells whether a module could be tried; panics where its tests end differently with probes in it.
fn holds(trial: &Trial<'_>, path: &Path, dice: &mut Dice) -> bool {
    let Trial { python, module, .. } = trial;
    let world = World::new(python, &[("empty", "")]);
    let Ok(places) = list_places(&world.interpreter(), path) else { return false };
    let probes = probes(&world, module, &places, dice);
    let bare = || results(&world, trial, None);
    let Some(first) = bare() else { return false };
    if probes.is_empty() || first.passed == 0 || bare().as_ref() != Some(&first) {
        return false;
    }
    for round in 0..3 {
        let Some(probed) = results(&world, trial, Some(&probes)) else { return false };
        if probed == first {
            return true;
        }
        // Tests that look at clocks or at other processes differ by themselves now and then.
        if bare().as_ref() != Some(&first) {
            return false;
        }
        assert!(
            round < 2,
            "test_{module} of Python 3.{} with probes at {:#?}:\nbare {first:#?}\nprobed {probed:#?}",
            python.minor,
            chosen(&probes)
        );
    }
    false
}

fn chosen(probes: &[CheckedProbe]) -> Vec<String> {
    probes.iter().map(|probe| format!("{} in {}", probe.chosen, probe.scope)).collect()
}

/// Probes at every moment of its functions and before its lines, cut at random to what a plan may hold; each records a few hits.
fn probes(world: &World, module: &str, places: &FilePlaces, dice: &mut Dice) -> Vec<CheckedProbe> {
    let mut specs = Vec::new();
    for function in &places.functions {
        for (word, moment) in Moment::WORDS {
            if matches!(function.at(moment), Choice::Chosen(_)) {
                let at = Place::Function { module: module.to_owned(), function: function.name.clone(), moment };
                let capture = if moment == Moment::Entry { Vec::new() } else { vec![word.to_owned()] };
                specs.push(ProbeSpec { capture, limit: Some(3), ..ProbeSpec::new("", at) });
            }
        }
    }
    let lines = places.lines.iter().filter(|line| line.compiled.is_none());
    specs.extend(
        lines.map(|line| ProbeSpec { limit: Some(3), ..ProbeSpec::new("", Place::Line { path: places.path.clone(), line: line.line }) }),
    );
    while specs.len() > PROBES {
        specs.swap_remove(usize::try_from(dice.below(specs.len() as u64)).expect("small"));
    }
    for (number, spec) in specs.iter_mut().enumerate() {
        spec.name = format!("p{number}");
    }
    // A function that is defined twice is refused; that is no matter here.
    check(&world.interpreter(), &specs).expect("the interpreter answers").split().0
}

/// What a run of tests came to.
#[derive(Debug, PartialEq, Eq)]
struct Results {
    tests: Vec<String>,
    passed: usize,
    code: i32,
}

/// Runs the tests of a module; `None` where they take too long.
fn results(world: &World, trial: &Trial<'_>, probes: Option<&[CheckedProbe]>) -> Option<Results> {
    let Trial { module, limit_s, .. } = trial;
    let arguments = ["-m", "unittest", "-v", &format!("test.test_{module}")];
    let overlay = probes.map(|probes| world.overlay(probes));
    let env = overlay.as_ref().map(|overlay| overlay.env(None)).unwrap_or_default();
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &limit_s.to_string()]).arg(&world.python.path).args(arguments).current_dir(world.program()).env_clear();
    command.envs(world.env()).envs(env.iter().map(|(key, value)| (key, value)));
    let output = command.stdin(Stdio::null()).output().expect("runs");
    let code = output.status.code().filter(|code| *code != 124)?;
    assert!(code < 128, "test_{module} of Python 3.{} was killed by signal {}", world.python.minor, code - 128);
    if let (Some(probes), Some(overlay)) = (probes, &overlay) {
        Drain::new(overlay.ring_dir(), probes).finish().expect("drains");
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut tests: Vec<String> = text.lines().filter(|line| line.contains(" ... ")).map(str::to_owned).collect();
    tests.sort();
    let passed = tests.iter().filter(|line| line.ends_with(" ok")).count();
    Some(Results { tests, passed, code })
}
