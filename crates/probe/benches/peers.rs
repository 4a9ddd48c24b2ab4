//! What seeing five locals costs with a probe, and with what else people use, in one run; writes `docs/measured/probe-cost.md`.
//!
//! Each sample is one process; the ways take turns, so that noise of the machine meets all of them. The programs of others come from
//! the package index into `target/`. Times are CPU time of the thread that makes the call, above the time of the bare function.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use bystander_probe::{CheckedProbe, ProbeSpec};

#[path = "../tests/it/world.rs"]
#[expect(dead_code, reason = "shared with the tests, which use all of it")]
mod world;

use world::{Python, World, probe, pythons};

const FILES: [(&str, &str); 4] = [
    ("peers.py", include_str!("../python/bench/peers.py")),
    ("cost.py", include_str!("../python/bench/cost.py")),
    ("logpoint.py", include_str!("../python/bench/logpoint.py")),
    ("target.py", include_str!("../python/bench/target.py")),
];
const ROUNDS: usize = 3;
const STARTS: usize = 15;
const PACKAGES: [&str; 3] = ["debugpy==1.8.22", "hunter==3.9.0", "viztracer==1.1.1"];
/// The minor versions that are measured: before and after the interpreter got monitoring of its own.
const MINORS: [u32; 2] = [11, 13];

/// One way of seeing five locals.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    argument: &'static str,
    probed: Option<Probing>,
}

#[derive(Clone, Copy, PartialEq)]
enum Probing {
    Native,
    Python,
    Rejected,
}

const fn peer(name: &'static str, argument: &'static str) -> Way {
    Way { name, argument, probed: None }
}

const fn ours(name: &'static str, probing: Probing) -> Way {
    Way { name, argument: "ours", probed: Some(probing) }
}

const WAYS: [Way; 10] = [
    peer("bare", "bare"),
    ours("probe, native recorder", Probing::Native),
    ours("probe over its limit, native recorder", Probing::Rejected),
    ours("probe, plain Python", Probing::Python),
    peer("`print` to a file", "print"),
    peer("`os.write` of JSON", "os.write"),
    peer("`logging.info` to a file", "logging"),
    peer("viztracer, five variables", "viztracer"),
    peer("debugpy logpoint", "debugpy"),
    peer("hunter, one line", "hunter"),
];

/// What one process says: the median and the least time of a call, the least of code that nothing looks at; nanoseconds.
type Sample = [f64; 3];

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let mut columns = Vec::new();
    for python in pythons().iter().filter(|python| MINORS.contains(&python.minor)) {
        say(&format!("3.{}: installing {}\n", python.minor, PACKAGES.join(" ")));
        let packages = installed(python);
        let world = World::new(python, &FILES);
        let samples = sampled(&world, &packages);
        columns.push((python.minor, samples, added_to_a_start(&world)));
    }
    let page = page(&columns);
    say(&page);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measured/probe-cost.md");
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes the folder");
    std::fs::write(path, page).expect("writes the page");
}

fn say(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).expect("writes");
}

/// Installs the programs of others once; the folder.
fn installed(python: &Python) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../target/bench-packages-3.{}", python.minor));
    if !folder.join("complete").exists() {
        let mut pip = Command::new(&python.path);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"]).arg(&folder).args(PACKAGES);
        assert!(pip.stdout(Stdio::null()).status().expect("pip starts").success(), "the programs of others cannot be installed");
        std::fs::write(folder.join("complete"), "").expect("writes");
    }
    folder.canonicalize().expect("resolves")
}

/// Runs every way in turn, several times; the least of each figure.
fn sampled(world: &World, packages: &Path) -> BTreeMap<&'static str, Sample> {
    let place = |limit| ProbeSpec { limit: Some(limit), ..probe("target:work", Some("e = ..."), &["a", "b", "c", "d", "e"]) };
    let (recording, rejecting) = (world.checked(&[place(1 << 40)]), world.checked(&[place(1)]));
    let mut samples: BTreeMap<&'static str, Sample> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for way in WAYS {
            let probes: &[CheckedProbe] = match way.probed {
                None => &[],
                Some(Probing::Rejected) => &rejecting,
                Some(_) => &recording,
            };
            let sample = run(world, way, probes, packages);
            let known = samples.entry(way.name).or_insert(sample);
            for (least, new) in known.iter_mut().zip(sample) {
                *least = least.min(new);
            }
        }
    }
    samples
}

fn run(world: &World, way: Way, probes: &[CheckedProbe], packages: &Path) -> Sample {
    drop(std::fs::remove_file(world.program().join("logpoint.ready")));
    let mut extra = vec![("PYTHONPATH".into(), packages.as_os_str().to_owned())];
    if let Some(probing) = way.probed {
        let overlay = world.overlay(probes);
        if probing == Probing::Python {
            std::fs::remove_file(overlay.dir().join("bystander_overlay/bystander_recorder.abi3.so")).expect("the overlay has the library");
        }
        extra = overlay.env(Some(packages.as_os_str()));
    }
    // A file and no pipe: what a way leaves behind for a moment must not be waited for.
    let said = world.program().join("said.txt");
    let file = std::fs::File::create(&said).expect("makes a file");
    let mut command = world.command(&["peers.py", way.argument], &extra);
    command.stdout(file.try_clone().expect("is copied")).stderr(file).status().expect("runs");
    let text = std::fs::read_to_string(&said).expect("is text");
    let figures: Vec<f64> = text.lines().last().unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let whole = figures.try_into();
    whole.unwrap_or_else(|_| panic!("{} on 3.{}: {text}", way.name, world.python.minor))
}

/// How many milliseconds the overlay and an armed probe add to a start: the difference of the least of some.
fn added_to_a_start(world: &World) -> f64 {
    world.write("start.py", "import target\ntarget.work(1)\n");
    let probes = world.checked(&[probe("target:work", Some("e = ..."), &["a", "b", "c", "d", "e"])]);
    let overlay = world.overlay(&probes);
    let timed = |extra: &[_]| {
        let start = Instant::now();
        assert!(world.command(&["start.py"], extra).status().expect("runs").success());
        start.elapsed().as_secs_f64() * 1e3
    };
    let (mut bare, mut probed) = (f64::MAX, f64::MAX);
    for _ in 0..STARTS {
        bare = bare.min(timed(&[]));
        probed = probed.min(timed(&overlay.env(None)));
    }
    probed - bare
}

fn page(columns: &[(u32, BTreeMap<&'static str, Sample>, f64)]) -> String {
    let mut page = String::from(
        "# What a probe costs\n\nGenerated by `cargo bench -p bystander-probe --bench peers`; do not edit. One call of a function that assigns five locals (two ints, a tuple of\n\
         two, a str, a float), and what it costs to see them: nanoseconds of CPU time of the calling thread above the bare function, the median of\n\
         batches in the quietest of three processes, and in brackets the quietest batch. All ways in one run on one machine, taking turns.\n\n|",
    );
    _ = write!(page, " hit |");
    for (minor, ..) in columns {
        _ = write!(page, " 3.{minor} |");
    }
    _ = write!(page, "\n|---|{}\n", "---:|".repeat(columns.len()));
    for way in WAYS.iter().skip(1) {
        _ = write!(page, "| {} |", way.name);
        for (_, samples, _) in columns {
            let (bare, own) = (samples["bare"], samples[way.name]);
            _ = write!(page, " {:.0} ({:.0}) |", own[0] - bare[0], own[1] - bare[1]);
        }
        page.push('\n');
    }
    page.push_str("\nCode that nothing looks at, in the same file: its time as a multiple of the bare one.\n\n| while | ");
    for (minor, ..) in columns {
        _ = write!(page, "3.{minor} | ");
    }
    _ = write!(page, "\n|---|{}\n", "---:|".repeat(columns.len()));
    for way in WAYS.iter().skip(1) {
        _ = write!(page, "| {} |", way.name);
        for (_, samples, _) in columns {
            _ = write!(page, " ×{:.2} |", samples[way.name][2] / samples["bare"][2]);
        }
        page.push('\n');
    }
    page.push_str("\nWhat the overlay, the recorder and one armed probe add to the start of a Python process, in milliseconds: ");
    let added: Vec<String> = columns.iter().map(|(minor, _, added)| format!("{added:.1} on 3.{minor}")).collect();
    _ = writeln!(page, "{}.", added.join(", "));
    page
}
