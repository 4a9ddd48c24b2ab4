//! From the events of a watched command to its summary: the same fold while it runs and when it is shown again.

use bystander_model::FORMAT;
use bystander_model::event::EventBody;
use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::ids::{RunId, TimeNs};
use bystander_model::probe::{Moment, Place, ProbeSpec};
use bystander_model::watch::{ProbeSummary, WatchEnd, WatchEvent, WatchProbe, WatchStart, WatchStatus, WatchSummary};
use indexmap::IndexMap;

/// What is known of a watched command so far.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    start: Option<WatchStart>,
    launched: Option<TimeNs>,
    recorded: IndexMap<String, u64>,
    receipts: Vec<Receipt>,
    end: Option<WatchEnd>,
}

impl Watched {
    /// Takes one more event into account; `time` is that of the event.
    pub fn take(&mut self, time: TimeNs, body: &EventBody) {
        match body {
            EventBody::Watch(WatchEvent::Started(start)) => self.start = Some(start.clone()),
            EventBody::Watch(WatchEvent::Launched { .. }) => self.launched = Some(time),
            EventBody::Watch(WatchEvent::Hits(batch)) => {
                for (probe, count) in batch.counts() {
                    *self.recorded.entry(probe.to_owned()).or_default() += count;
                }
            }
            EventBody::Watch(WatchEvent::Ended(end)) => self.end = Some(end.clone()),
            EventBody::Receipt(receipt) => self.receipts.push(receipt.clone()),
            _ => {}
        }
    }

    /// What was watched; `None` before it is known.
    #[must_use]
    pub fn start(&self) -> Option<&WatchStart> {
        self.start.as_ref()
    }

    /// When the program was started.
    #[must_use]
    pub fn launched(&self) -> Option<TimeNs> {
        self.launched
    }

    /// How it ended; `None` while it has not.
    #[must_use]
    pub fn end(&self) -> Option<&WatchEnd> {
        self.end.as_ref()
    }

    /// The summary; `alive` where somebody is still at work on the run.
    #[must_use]
    pub fn summary(&self, run: &RunId, alive: bool) -> WatchSummary {
        let end = self.end.as_ref();
        let status = match end {
            Some(end) if end.interrupted => WatchStatus::Interrupted,
            Some(_) => WatchStatus::Ended,
            None if alive => WatchStatus::Running,
            None => WatchStatus::Killed,
        };
        let probes = self.start.iter().flat_map(|start| &start.probes).map(|probe| self.probe(probe, status));
        WatchSummary {
            format: FORMAT,
            run: run.clone(),
            status,
            why: end.and_then(|end| end.why.clone()),
            command: self.start.as_ref().map(|start| start.command.clone()).unwrap_or_default(),
            exit: end.and_then(|end| end.exit),
            signal: end.and_then(|end| end.signal),
            wall_s: end.map(|end| end.wall_s),
            hits: self.recorded.values().sum(),
            probes: probes.collect(),
            receipts: self.receipts.clone(),
            left: end.and_then(|end| end.left.clone()),
            trouble: end.and_then(|end| end.trouble.clone()),
            on: None,
        }
    }

    fn probe(&self, probe: &WatchProbe, status: WatchStatus) -> ProbeSummary {
        let name = &probe.spec.name;
        let receipts: Vec<&Receipt> = self.receipts.iter().filter(|receipt| receipt.probe == *name).collect();
        let sum = |number: fn(&Receipt) -> Option<u64>| receipts.iter().filter_map(|receipt| number(receipt)).reduce(u64::saturating_add);
        let recorded = self.recorded.get(name).copied().unwrap_or(0);
        let mut states: IndexMap<ReceiptState, u64> = IndexMap::new();
        receipts.iter().for_each(|receipt| *states.entry(receipt.state).or_default() += 1);
        let mut recorders: Vec<String> = receipts.iter().filter_map(|receipt| receipt.recorder.clone()).collect();
        recorders.sort();
        recorders.dedup();
        let costs: Vec<u64> = receipts.iter().filter_map(|receipt| receipt.cost_ns).collect();
        // What was turned away past the limit cost a fraction of a hit.
        let full = |receipt: &Receipt| {
            Some(receipt.hits?.saturating_sub(if receipt.state == ReceiptState::Expired { receipt.dropped? } else { 0 }))
        };
        let cost = |receipt: &Receipt| Some(full(receipt)? as f64 * receipt.cost_ns? as f64 / 1e9);
        let cost_s = receipts.iter().filter_map(|receipt| cost(receipt)).reduce(|one, other| one + other);
        let most = receipts.iter().filter_map(|receipt| cost(receipt)).reduce(f64::max);
        let wall = self.end.as_ref().map(|end| end.wall_s).filter(|wall| *wall > 0.0);
        let hits = sum(|receipt| receipt.hits);
        ProbeSummary {
            probe: name.clone(),
            text: ProbeSpec { name: String::new(), ..probe.spec.clone() }.to_string(),
            placed: format!("{}: {} in {}", probe.file.display(), probe.placed, probe.function),
            delivery: probe.delivery.word().to_owned(),
            unsafe_capture: probe.spec.unsafe_capture,
            hits,
            recorded,
            passes: sum(|receipt| receipt.passes),
            dropped: sum(|receipt| receipt.dropped),
            throttled: sum(|receipt| receipt.throttled),
            cost_ns: (!costs.is_empty()).then(|| costs.iter().sum::<u64>() / costs.len() as u64),
            cost_s,
            cost_share: most.zip(wall).map(|(most, wall)| most / wall),
            recorders,
            adds_switch_point: receipts.iter().any(|receipt| receipt.adds_switch_point),
            silent: (recorded == 0 && hits.unwrap_or(0) == 0).then(|| silent(probe, &receipts, status)),
            states,
        }
    }
}

/// Why there is no hit: each state is a different answer.
fn silent(probe: &WatchProbe, receipts: &[&Receipt], status: WatchStatus) -> String {
    if receipts.is_empty() {
        return match status {
            WatchStatus::Ended | WatchStatus::Interrupted => {
                "uncovered: no Python process of the program has loaded the probes, so nothing is known of the place".to_owned()
            }
            WatchStatus::Running => "no hit yet; processes account for it at their end".to_owned(),
            WatchStatus::Killed => {
                "no hit was recorded until Bystander was killed, or could not write; no process has accounted for it".to_owned()
            }
        };
    }
    let of = |state: ReceiptState| receipts.iter().filter(move |receipt| receipt.state == state);
    let passes: u64 = receipts.iter().filter_map(|receipt| receipt.passes).sum();
    let mut said: Vec<String> = Vec::new();
    let processes = |count: usize| if count == 1 { "1 process".to_owned() } else { format!("{count} processes") };
    let reached = if of(ReceiptState::Uncovered).next().is_some() { "not reached where it is known" } else { "not reached" };
    for state in STATES {
        let count = of(state).count();
        if count == 0 {
            continue;
        }
        let reason = of(state).find_map(|receipt| receipt.detail.clone()).map_or_else(String::new, |detail| format!(" ({detail})"));
        let text = match state {
            ReceiptState::Armed | ReceiptState::NotReached if passes > 0 && probe.spec.condition.is_some() => {
                format!("no pass met its condition: in place in {}, passed {passes} times{reason}", processes(count))
            }
            ReceiptState::Armed | ReceiptState::NotReached => {
                format!("{reached}: in place in {}, {}{reason}", processes(count), never(&probe.spec.at))
            }
            ReceiptState::Paused => format!("paused: over its budget in {}", processes(count)),
            ReceiptState::Expired => format!("expired in {}", processes(count)),
            ReceiptState::CompiledAway => format!("compiled away in {}{reason}", processes(count)),
            ReceiptState::Refused => format!("refused in {}{reason}", processes(count)),
            ReceiptState::NotImported => format!("not imported: {} ran, and no module was loaded from the file", processes(count)),
            ReceiptState::Uncovered => format!("uncovered: {} out of the probes' reach{reason}", processes(count)),
        };
        said.push(text);
    }
    said.push(UNSEEN.to_owned());
    said.join("; ")
}

/// What did not happen where a place was not reached.
fn never(place: &Place) -> &'static str {
    match place {
        Place::Function { moment: Moment::Raise, .. } => "no exception left it",
        Place::Function { moment: Moment::Return, .. } => "it never returned",
        Place::Function { moment: Moment::Entry, .. } | Place::Line { .. } => "control never came there",
    }
}

/// What no receipt can tell.
const UNSEEN: &str = "a Python shorter than the sampling interval that no covered one started may be missing";

/// The states in the order in which they tell most.
const STATES: [ReceiptState; 8] = [
    ReceiptState::Armed,
    ReceiptState::NotReached,
    ReceiptState::Paused,
    ReceiptState::Expired,
    ReceiptState::CompiledAway,
    ReceiptState::Refused,
    ReceiptState::NotImported,
    ReceiptState::Uncovered,
];
