//! One engine, watched from its launch until its pools are made.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bystander_testkit::{Mark, Signal, skip, until};
use serde_json::Value;

use crate::experiment::{shown, world};

/// An engine on a busy machine that has never been started there.
const LIMIT: Duration = Duration::from_secs(600);

/// What was seen of an engine.
pub(super) struct Seen {
    name: String,
    hits: Vec<Value>,
    summary: Value,
}

/// Watches an engine with a set of probes until each of some probes was hit on every rank, and ends it; `None` where it is not installed.
pub(super) fn watch(name: &str, pack: &str, awaited: &[&str], ranks: usize) -> Option<Seen> {
    let folder = installed(name)?;
    // A link to an environment is followed: a Python knows its packages by the place that it is started from.
    let bin = folder.join("bin").canonicalize().expect("resolves");
    // Engines are large: one at a time.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let world = world();
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr()).expect("a free port").port().to_string();
    let hits = world.path("hits.jsonl");
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut running = world
        .bystander(["watch", "--json", "--pack", pack, "--output", shown(&hits), "--python", shown(&bin.join("python3")), "--"])
        .args([shown(&folder.join("serve")), "--host", "127.0.0.1", "--port", &port])
        .env("PATH", format!("{}:{inherited}", shown(&bin)))
        .start();
    until(&format!("{awaited:?} on {ranks} ranks of {name}"), LIMIT, || {
        let seen = lines(&hits);
        assert!(!running.has_ended(), "{name} ended:\n{}", running.output());
        awaited.iter().all(|probe| processes(&seen, probe) >= ranks)
    });
    running.signal(Signal::INT);
    let ran = running.wait().exits(130);
    let summary = lines(&hits).into_iter().find_map(|line| line.get("summary").cloned());
    let summary = summary.or_else(|| last_summary(&ran.stdout)).or_else(|| last_summary(&ran.stderr)).expect("a summary");
    let hits = lines(&hits).into_iter().filter_map(|line| line.get("hit").cloned()).collect();
    assert_eq!(world.processes(), [], "{name}");
    assert_eq!(world.rings(), Vec::<PathBuf>::new(), "{name}");
    Some(Seen { name: name.to_owned(), hits, summary })
}

/// The folder of an engine.
pub(super) fn installed(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("BYSTANDER_REAL").map(|folder| Path::new(&folder).join(name)) else {
        skip("BYSTANDER_REAL names no folder with engines (`just real` says what it holds)", Mark::Download);
        return None;
    };
    if !folder.join("serve").is_file() || !folder.join("bin/python3").is_file() {
        skip(&format!("{} holds no engine", folder.display()), Mark::Download);
        return None;
    }
    Some(folder)
}

/// The complete lines of a file of hits.
fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
    complete.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

fn last_summary(text: &str) -> Option<Value> {
    text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|line| line.get("summary").cloned())
}

/// How many processes hit a probe.
fn processes(lines: &[Value], probe: &str) -> usize {
    let of_probe = lines.iter().filter(|line| line["hit"]["probe"] == probe);
    of_probe.map(|line| line["hit"]["pid"].to_string()).collect::<BTreeSet<_>>().len()
}

impl Seen {
    /// The hits of a probe; there is at least one.
    pub(super) fn each(&self, probe: &str) -> Vec<&Value> {
        let found: Vec<&Value> = self.hits.iter().filter(|hit| hit["probe"] == probe).collect();
        assert!(!found.is_empty(), "{}: no hit of {probe} among {}", self.name, self.hits.len());
        found
    }

    /// The last hit of a probe in the process of another hit.
    pub(super) fn of_process(&self, probe: &str, other: &Value) -> &Value {
        let found = self.each(probe).into_iter().rfind(|hit| hit["pid"] == other["pid"]);
        found.unwrap_or_else(|| panic!("{}: no hit of {probe} in {}", self.name, other["pid"]))
    }

    /// The ranks that hit a probe.
    pub(super) fn ranks(&self, probe: &str) -> BTreeSet<u64> {
        self.each(probe).into_iter().filter_map(|hit| hit["rank"].as_u64()).collect()
    }

    /// Asserts that no process refused a probe, and that none was lost.
    pub(super) fn nothing_refused(&self) {
        for probe in self.summary["probes"].as_array().expect("probes") {
            assert!(probe["states"].get("refused").is_none(), "{}: {probe:#}", self.name);
            assert_eq!(
                (probe["hits"].as_u64(), probe["dropped"].as_u64()),
                (probe["recorded"].as_u64(), Some(0)),
                "{}: {probe:#}",
                self.name
            );
        }
    }
}
