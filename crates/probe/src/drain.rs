//! Taking hits out of the rings of a whole trial while it runs, and its receipts when it is over.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_model::probe::Compiled;
use bystander_model::value::Value;
use indexmap::IndexMap;
use thiserror::Error;

use crate::check::CheckedProbe;
use crate::left;
use crate::orphan;
use crate::process::{Account, Process};
use crate::ring::{Counts, RawHit};

/// How many hits one poll hands out, about; a caller that shows them wants to be called again soon.
const MOST_A_POLL: usize = 100_000;
/// How many hits of a process are decoded before the rings are looked at again.
const PORTION: usize = 256;

/// Why rings cannot be read.
#[derive(Debug, Error)]
#[error("read the probe rings at `{}`", path.display())]
pub struct DrainError {
    /// The folder or file.
    pub path: PathBuf,
    /// Why not.
    #[source]
    pub source: io::Error,
}

/// The reader of all rings in a folder. Processes are found as they appear; the rings of killed ones stay readable.
#[derive(Debug)]
pub struct Drain {
    ring_dir: PathBuf,
    probes: Vec<CheckedProbe>,
    processes: BTreeMap<PathBuf, Process>,
}

impl Drain {
    /// Makes the reader for the probes that the overlay was written with, in the same order.
    #[must_use]
    pub fn new(ring_dir: &Path, probes: &[CheckedProbe]) -> Self {
        Self { ring_dir: ring_dir.to_owned(), probes: probes.to_vec(), processes: BTreeMap::new() }
    }

    /// Takes the hits that came since the last time, in the order of time.
    ///
    /// Where they come faster than they are decoded, some wait in memory for the next time: the rings have their room either way.
    ///
    /// # Errors
    /// [`DrainError`] where the folder or a ring cannot be read; what was taken before is not lost.
    pub fn poll(&mut self) -> Result<Vec<Hit>, DrainError> {
        self.take(MOST_A_POLL)
    }

    /// Takes hits until there are none, or about as many as asked for.
    fn take(&mut self, most: usize) -> Result<Vec<Hit>, DrainError> {
        self.discover()?;
        let mut hits = Vec::new();
        let mut decoded = 0;
        while decoded < most {
            // Rings are read between portions, so that they do not fill while hits are decoded.
            self.read()?;
            let portion = self.decode(&mut hits);
            decoded += portion;
            if portion == 0 {
                break;
            }
        }
        hits.sort_by_key(|hit| hit.time_ns);
        Ok(hits)
    }

    fn read(&mut self) -> Result<(), DrainError> {
        for (path, process) in &mut self.processes {
            process.read().map_err(|source| DrainError { path: path.clone(), source })?;
        }
        Ok(())
    }

    /// Decodes a portion of each process's hits; gives how many they were.
    fn decode(&mut self, hits: &mut Vec<Hit>) -> usize {
        let mut decoded = 0;
        for process in self.processes.values_mut() {
            let raw = process.decode(PORTION);
            decoded += raw.len();
            hits.extend(raw.into_iter().filter_map(|hit| finished(&self.probes, process, hit)));
        }
        decoded
    }

    /// Takes the last hits and accounts for every probe in every process that loaded the overlay.
    ///
    /// Call it when the trial's processes are gone.
    ///
    /// # Errors
    /// [`DrainError`] where the folder or a ring cannot be read.
    pub fn finish(mut self) -> Result<(Vec<Hit>, Vec<Receipt>), DrainError> {
        self.discover()?;
        // Once: a process that outlives its trial could go on for ever.
        self.read()?;
        // A child that was forked meanwhile may have begun its record since the folder was listed.
        let forks = orphan::forks(self.processes.values());
        self.discover()?;
        self.read()?;
        let mut hits = Vec::new();
        while self.decode(&mut hits) > 0 {}
        hits.sort_by_key(|hit| hit.time_ns);
        let mut receipts: BTreeMap<(u32, usize), Receipt> = BTreeMap::new();
        for process in self.processes.values().filter(|process| process.has_spoken) {
            for (index, probe) in self.probes.iter().enumerate() {
                let receipt = receipt(process, index, probe);
                receipts.entry((process.pid, index)).and_modify(|known| merge(known, &receipt)).or_insert(receipt);
            }
        }
        let silent = orphan::silent(&forks, self.processes.values());
        let names: Vec<&str> = self.probes.iter().map(|probe| probe.name.as_str()).collect();
        left::account(&self.processes.into_values().collect::<Vec<_>>(), &names, &mut receipts);
        orphan::account(silent, &names, &mut receipts);
        Ok((hits, receipts.into_values().collect()))
    }

    /// The processes that have loaded the overlay so far.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes.values().map(|process| process.pid).collect()
    }

    fn discover(&mut self) -> Result<(), DrainError> {
        let failed = |source| DrainError { path: self.ring_dir.clone(), source };
        for entry in std::fs::read_dir(&self.ring_dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_new = path.extension().is_some_and(|end| end == "proc") && !self.processes.contains_key(&path);
            if let Some(process) = is_new.then(|| Process::of_record(&path, self.probes.len())).flatten() {
                self.processes.insert(path, process);
            }
        }
        Ok(())
    }
}

/// Joins a hit to its probe; the value of a `rank` expression, which comes last, becomes the rank.
fn finished(probes: &[CheckedProbe], process: &mut Process, raw: RawHit) -> Option<Hit> {
    let probe = probes.get(raw.probe)?;
    let mut values = raw.values.into_iter();
    let captured: IndexMap<String, Value> = probe.capture.iter().cloned().zip(values.by_ref()).collect();
    if let (true, Some(Value::Int(rank))) = (probe.rank.is_some(), values.next()) {
        u32::try_from(rank).into_iter().for_each(|rank| process.tell_rank(rank));
    }
    Some(Hit {
        probe: probe.name.clone(),
        pid: process.pid,
        tid: raw.thread,
        rank: process.rank(),
        seq: raw.sequence,
        time_ns: raw.time_ns,
        file: probe.path.display().to_string(),
        line: process.accounts.get(raw.probe).and_then(|account| account.line).unwrap_or(probe.line),
        function: probe.scope.clone(),
        values: captured,
    })
}

fn receipt(process: &Process, index: usize, probe: &CheckedProbe) -> Receipt {
    let account = process.accounts.get(index).cloned().unwrap_or_default();
    let counts = process.counts(index);
    // Without a condition every pass is a hit, also one that the rate turned away.
    let turned_away = if probe.condition.is_none() { counts.throttled } else { 0 };
    let wanted = counts.hits.saturating_sub(turned_away);
    let is_placed = account.placed.is_some();
    // Once the limit is reached a condition is not looked at any more.
    let is_expired = wanted > probe.limit || (probe.condition.is_some() && counts.hits >= probe.limit && counts.passes > counts.hits);
    let state = match (is_placed, &account.disabled, &account.refused) {
        (true, ..) if account.lost.is_some() => ReceiptState::Uncovered,
        (true, Some(_), _) => ReceiptState::Paused,
        (true, None, _) if is_expired => ReceiptState::Expired,
        (true, None, _) if counts.passes > 0 => ReceiptState::Armed,
        // Calls that the compiler took over pass by unseen, as was asked for.
        (true, None, _) if probe.finding.compiled == Compiled::Skip => ReceiptState::CompiledAway,
        (true, None, _) => ReceiptState::NotReached,
        (false, _, Some(_)) => ReceiptState::Refused,
        (false, _, None) if account.archive.is_some() => ReceiptState::Uncovered,
        (false, _, None) => ReceiptState::NotImported,
    };
    let is_known = state != ReceiptState::Uncovered;
    let adds_switch_point = is_placed && account.recorder.as_deref() != Some("native");
    Receipt {
        pid: process.pid,
        rank: process.rank(),
        probe: probe.name.clone(),
        state,
        hits: is_known.then_some(counts.hits),
        dropped: is_known.then(|| wanted.saturating_sub(account.received)),
        python: process.python.clone(),
        passes: (is_placed && is_known).then_some(counts.passes),
        throttled: (is_placed && is_known && probe.rate.is_some()).then_some(counts.throttled),
        recorder: account.recorder.clone(),
        cost_ns: account.cost_ns,
        adds_switch_point,
        detail: detail(account, counts, probe, process.compiler.as_deref()),
    }
}

/// What was said of a probe in a process, in one line.
fn detail(account: Account, counts: Counts, probe: &CheckedProbe, compiler: Option<&str>) -> Option<String> {
    let is_passed_by = account.placed.is_some() && probe.finding.compiled != Compiled::Break;
    let unseen = compiler.filter(|_| is_passed_by).map(|compiler| format!("calls that {compiler} took over pass unseen and uncounted"));
    let unsafe_captures = probe.unsafe_capture.then(|| "unsafe captures".to_owned());
    let from_archive = account.archive.map(|path| format!("loaded from the archive {path}"));
    let said = account.placed.or(account.refused).or(from_archive)?;
    let misjudged = (counts.misjudged > 0).then(|| format!("its condition could not be evaluated {} times", counts.misjudged));
    Some(
        [unsafe_captures, Some(said), misjudged, account.lost, account.disabled, unseen]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", "),
    )
}

/// Adds another life of the same pid to a receipt: counts add up, and the state that tells more stays.
fn merge(known: &mut Receipt, other: &Receipt) {
    let weight = |state: ReceiptState| match state {
        ReceiptState::Armed => 5,
        ReceiptState::Expired => 4,
        ReceiptState::NotReached | ReceiptState::CompiledAway => 3,
        ReceiptState::Refused => 2,
        _ => 1,
    };
    let sum = |one: Option<u64>, two: Option<u64>| Some(one? + two?);
    let either = |one: Option<u64>, two: Option<u64>| sum(one, two).or(one).or(two);
    let (hits, dropped) = (sum(known.hits, other.hits), sum(known.dropped, other.dropped));
    let (passes, throttled) = (either(known.passes, other.passes), either(known.throttled, other.throttled));
    if weight(other.state) > weight(known.state) {
        *known = other.clone();
    }
    (known.hits, known.dropped, known.passes, known.throttled) = (hits, dropped, passes, throttled);
}
