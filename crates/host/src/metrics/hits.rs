//! Metrics that a probe captures: one value a process, then one over the processes.

use std::collections::BTreeMap;

use bystander_lab::exact;
use bystander_lab::plan::{Over, Pick};
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_model::ids::TrialId;
use bystander_model::value::Value;

use super::figure::{Figure, NoFigure};
use super::tally::{Picked, Tally};

/// Processes that are told apart; more than any engine has.
const PROCESSES: usize = 4096;

/// One metric of one probe.
#[derive(Debug)]
pub(super) struct OfHits {
    trial: TrialId,
    probe: String,
    value: String,
    pick: Pick,
    over: Over,
    /// Whether the cell holds the probe.
    is_put_in: bool,
    processes: BTreeMap<u32, Process>,
    too_many: bool,
    missing: Option<String>,
}

#[derive(Debug)]
struct Process {
    tally: Tally,
    rank: Option<u32>,
    /// Hits without a record.
    dropped: u64,
    /// The number of the next hit where none is missing.
    next: u64,
    /// The number of the first hit that was seen.
    first: u64,
}

impl OfHits {
    pub(super) fn new(trial: TrialId, probe: &str, value: &str, pick: Pick, over: Over, is_put_in: bool) -> Self {
        let (probe, value) = (probe.to_owned(), value.to_owned());
        Self { trial, probe, value, pick, over, is_put_in, processes: BTreeMap::new(), too_many: false, missing: None }
    }

    pub(super) fn hit(&mut self, hit: &Hit) {
        if hit.probe != self.probe {
            return;
        }
        let Some(value) = hit.values.get(&self.value) else { return };
        if self.processes.len() >= PROCESSES && !self.processes.contains_key(&hit.pid) {
            self.too_many = true;
            return;
        }
        let process = self.processes.entry(hit.pid).or_insert_with(|| Process {
            tally: Tally::new(self.pick),
            rank: hit.rank,
            dropped: 0,
            next: hit.seq,
            first: hit.seq,
        });
        process.rank = process.rank.or(hit.rank);
        process.dropped += hit.seq.saturating_sub(process.next);
        process.next = hit.seq + 1;
        let (trial, name) = (self.trial, &self.value);
        let shows = || Evidence {
            trial: Some(trial),
            kind: EvidenceKind::Hit,
            place: format!("{}/pid {}/{}", hit.probe, hit.pid, hit.seq),
            text: format!("{name} = {}", shown(value)),
        };
        process.tally.read(number(value), shows, String::new);
    }

    pub(super) fn receipt(&mut self, receipt: &Receipt) {
        if receipt.probe != self.probe {
            return;
        }
        if let Some(process) = self.processes.get_mut(&receipt.pid) {
            process.dropped = process.dropped.max(receipt.dropped.unwrap_or(0));
        } else if matches!(receipt.state, ReceiptState::Refused | ReceiptState::CompiledAway | ReceiptState::NotReached)
            || self.missing.is_none()
        {
            let detail = receipt.detail.as_deref().map_or_else(String::new, |detail| format!(" ({detail})"));
            let state = format!("{:?}", receipt.state).chars().fold(String::new(), |mut word, c| {
                if c.is_uppercase() && !word.is_empty() {
                    word.push('_');
                }
                word.extend(c.to_lowercase());
                word
            });
            self.missing = Some(format!("pid {}: {state}{detail}", receipt.pid));
        }
    }

    pub(super) fn finish(self) -> (Option<f64>, Option<Evidence>) {
        let none =
            |text: String| (None, Some(Evidence { trial: Some(self.trial), kind: EvidenceKind::Hit, place: self.probe.clone(), text }));
        if !self.is_put_in {
            return none(format!("this cell does not hold the probe `{}`", self.probe));
        }
        if self.too_many {
            return none(format!("more than {PROCESSES} processes hit it"));
        }
        if self.processes.is_empty() {
            let why = self.missing.as_ref().map_or_else(String::new, |missing| format!("; {missing}"));
            return none(format!("the probe `{}` was never hit{why}", self.probe));
        }
        let mut values: Vec<(f64, Evidence)> = Vec::new();
        for (pid, process) in self.processes {
            let (count, first) = (process.tally.matches(), process.first);
            // The first hit is the first whatever was lost after it.
            let is_whole = first == 0 && (process.dropped == 0 || self.pick == Pick::First);
            let dropped = process.dropped + first;
            let Picked { value, evidence, .. } = process.tally.finish("hits");
            let Some(mut evidence) = evidence else { continue };
            if let Some(rank) = process.rank {
                evidence.text = format!("rank {rank}: {}", evidence.text);
            }
            if !is_whole {
                evidence.text =
                    format!("{dropped} hits of pid {pid} have no record beside {count} that have, so none counts: {}", evidence.text);
                return (None, Some(evidence));
            }
            // One rank without a value would make a least or a sum of the others' a wrong one.
            let Some(value) = value else { return (None, Some(evidence)) };
            values.push((value, evidence));
        }
        over(self.over, &values)
    }
}

fn over(over: Over, values: &[(f64, Evidence)]) -> (Option<f64>, Option<Evidence>) {
    let least = |a: &&(f64, Evidence), b: &&(f64, Evidence)| a.0.total_cmp(&b.0);
    let sum = values.iter().map(|value| value.0).sum::<f64>();
    let (value, word, shown) = match over {
        Over::Min => (values.iter().min_by(least).map(|value| value.0), "the least", values.iter().min_by(least)),
        Over::Max => (values.iter().max_by(least).map(|value| value.0), "the greatest", values.iter().max_by(least)),
        Over::Sum => (Some(sum), "the sum", values.first()),
        Over::Mean => (Some(sum / values.len() as f64), "the mean", values.first()),
    };
    let mut evidence = shown.map(|shown| shown.1.clone());
    if values.len() > 1
        && let Some(evidence) = &mut evidence
    {
        evidence.text = format!("{word} over {} processes: {}", values.len(), evidence.text);
    }
    (value.filter(|value| value.is_finite()), evidence)
}

/// A captured value as a number; large integers come as their digits.
fn number(value: &Value) -> Result<Figure, NoFigure> {
    let (number, is_held) = match value {
        Value::Object(object) if !object.truncated && !object.redacted => {
            let text = object.text.as_deref().ok_or(NoFigure::NotANumber)?;
            let number = text.parse().ok();
            (number, number.is_none_or(|number| exact::holds(text, number)))
        }
        Value::Int(number) => (Some(*number as f64), exact::holds_whole(i128::from(*number))),
        other => (other.as_f64(), true),
    };
    let value = number.filter(|number: &f64| number.is_finite()).ok_or(NoFigure::NotANumber)?;
    if is_held { Ok(Figure { value, unit: "" }) } else { Err(NoFigure::TooLong) }
}

fn shown(value: &Value) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    super::clip(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::OfHits;
    use bystander_lab::plan::{Over, Pick};
    use bystander_model::hit::{Hit, Receipt};
    use bystander_model::ids::TrialId;
    use bystander_model::value::Value;
    use indexmap::IndexMap;

    fn hit(pid: u32, rank: Option<u32>, seq: u64, value: Value) -> Hit {
        Hit {
            probe: "kv".into(),
            pid,
            tid: u64::from(pid),
            rank,
            seq,
            time_ns: 0,
            file: "a.py".into(),
            line: 1,
            function: "f".into(),
            values: IndexMap::from([("rest".into(), value)]),
        }
    }

    fn read(pick: Pick, over: Over, hits: &[Hit], receipts: &[Receipt]) -> (Option<f64>, String) {
        let mut metric = OfHits::new(TrialId(1), "kv", "rest", pick, over, true);
        hits.iter().for_each(|hit| metric.hit(hit));
        receipts.iter().for_each(|receipt| metric.receipt(receipt));
        let (value, evidence) = metric.finish();
        let evidence = evidence.expect("there always is one");
        (value, format!("{}: {}", evidence.place, evidence.text))
    }

    #[test]
    fn ranks_become_one_by_the_least_and_the_evidence_is_that_hit() {
        let hits = [hit(7, Some(0), 0, Value::Float(-20.5)), hit(8, Some(1), 0, Value::Int(-21))];
        let told = read(Pick::Only, Over::Min, &hits, &[]);
        assert_eq!(told, (Some(-21.0), "kv/pid 8/0: the least over 2 processes: rank 1: rest = -21".into()));
        assert_eq!(read(Pick::Only, Over::Sum, &hits, &[]).0, Some(-41.5));
        assert_eq!(read(Pick::Only, Over::Mean, &hits, &[]).0, Some(-20.75));
        assert_eq!(read(Pick::Only, Over::Max, &hits, &[]).0, Some(-20.5));
    }

    #[test]
    fn within_a_process_several_hits_need_a_pick() {
        let hits = [hit(7, None, 0, Value::Int(3)), hit(7, None, 1, Value::Int(1))];
        assert!(read(Pick::Only, Over::Min, &hits, &[]).1.contains("one of 2 hits, so none counts"));
        assert_eq!((read(Pick::First, Over::Min, &hits, &[]).0, read(Pick::Sum, Over::Min, &hits, &[]).0), (Some(3.0), Some(4.0)));
    }

    #[test]
    fn lost_hits_and_values_that_are_no_numbers_take_the_value() {
        let gap = [hit(7, None, 0, Value::Int(3)), hit(7, None, 5, Value::Int(1))];
        assert!(read(Pick::Sum, Over::Min, &gap, &[]).1.contains("4 hits of pid 7 have no record"));
        assert_eq!(read(Pick::First, Over::Min, &gap, &[]).0, Some(3.0));
        let late = [hit(7, None, 2, Value::Int(3))];
        assert_eq!((read(Pick::First, Over::Min, &late, &[]).0, read(Pick::Only, Over::Min, &late, &[]).0), (None, None));
        let dropped = Receipt { dropped: Some(9), state: bystander_model::hit::ReceiptState::Armed, ..Receipt::uncovered(7, "kv", "") };
        assert!(read(Pick::Only, Over::Min, &[hit(7, None, 0, Value::Int(3))], &[dropped]).1.contains("9 hits of pid 7"));
        let long = [hit(7, None, 0, Value::Int((1 << 53) + 1))];
        assert!(read(Pick::Only, Over::Min, &long, &[]).1.contains("more digits than can be compared"));
        let mixed = [hit(7, None, 0, Value::Int(3)), hit(8, None, 0, Value::error("AttributeError"))];
        assert_eq!(read(Pick::Only, Over::Min, &mixed, &[]).0, None);
    }

    #[test]
    fn no_hit_and_no_probe_are_said_and_are_never_nothing() {
        let receipt = Receipt::uncovered(7, "kv", "started with -S");
        assert_eq!(
            read(Pick::Only, Over::Min, &[], &[receipt]),
            (None, "kv: the probe `kv` was never hit; pid 7: uncovered (started with -S)".into())
        );
        let absent = OfHits::new(TrialId(1), "kv", "rest", Pick::Only, Over::Min, false).finish();
        assert_eq!((absent.0, absent.1.expect("evidence").text.as_str()), (None, "this cell does not hold the probe `kv`"));
    }
}
