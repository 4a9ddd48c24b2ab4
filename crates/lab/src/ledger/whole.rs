//! Metrics of which the launches do not show the same thing: numbers in different units, or some that could not be read as a whole.
//!
//! What is left of such a metric would mislead: 2 GiB is not less than 2048 MiB, and launches whose number was printed as `1,234` would be left out for being
//! large. So none of its values counts, and each says why.

use std::collections::BTreeMap;

use bystander_model::event::TrialEnd;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TrialId;
use bystander_model::outcome::Outcome;

use super::TrialRecord;

/// What is known of the metrics of a run so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Whole {
    /// The unit of each in the first launch that shows it.
    units: BTreeMap<String, (String, TrialId)>,
    /// Those that do not count, and why.
    broken: BTreeMap<String, String>,
}

impl Whole {
    /// Takes the end of a trial, which is in `trials` already, and takes back the values that do not count.
    pub(super) fn take(&mut self, id: TrialId, trials: &mut BTreeMap<TrialId, TrialRecord>) {
        let Some(trial) = trials.get(&id).filter(|trial| trial.counts()) else { return };
        let Some(end) = trial.end.as_deref().filter(|end| end.outcome == Outcome::Completed) else { return };
        let known = self.broken.len();
        self.look(id, end);
        if self.broken.is_empty() {
            return;
        }
        let from = if self.broken.len() > known { TrialId(0) } else { id };
        for (_, trial) in trials.range_mut(from..) {
            let Some(end) = trial.end.as_deref_mut() else { continue };
            self.broken.iter().for_each(|(name, why)| take_back(end, name, why));
        }
    }

    fn look(&mut self, id: TrialId, end: &TrialEnd) {
        for name in end.refused.iter().filter(|name| !self.broken.contains_key(*name)).cloned().collect::<Vec<_>>() {
            let why = end.metric_evidence.get(&name).map_or_else(|| "it cannot be read as a whole".to_owned(), said);
            self.broken.insert(name, format!("in trial {id} {why}"));
        }
        // Earlier versions did not say units.
        let Some(units) = &end.units else { return };
        for name in end.metrics.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name) {
            let unit = units.get(name).map_or("", String::as_str);
            let (first, of) = self.units.entry(name.clone()).or_insert_with(|| (unit.to_owned(), id));
            if first.as_str() != unit {
                let [one, other] = [first.as_str(), unit].map(|unit| if unit.is_empty() { "no unit" } else { unit });
                let why =
                    format!("its unit differs between launches ({one} in trial {of}, {other} in trial {id}), so they are not compared");
                self.broken.entry(name.clone()).or_insert(why);
            }
        }
    }
}

fn said(evidence: &Evidence) -> String {
    format!("{}, at {}", evidence.text, evidence.place)
}

fn take_back(end: &mut TrialEnd, name: &str, why: &str) {
    let Some(value) = end.metrics.get_mut(name).and_then(Option::take) else { return };
    if let Some(evidence) = end.metric_evidence.get_mut(name) {
        evidence.take_back(value, why);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bystander_model::cell::Cell;
    use bystander_model::event::{Purpose, Slot, TrialEnd};
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::ids::{TimeNs, TrialId};
    use bystander_model::outcome::Outcome;

    use super::super::TrialRecord;
    use super::Whole;

    /// Trials with a value and its unit each; `None` is one whose number could not be read as a whole. What is left of them.
    fn left(all: &[Option<(f64, &str)>]) -> Vec<(Option<f64>, String)> {
        let cell = Cell { levels: indexmap::IndexMap::new(), instrument: "none".to_owned() };
        let (mut whole, mut trials) = (Whole::default(), BTreeMap::new());
        for (number, read) in (1..).zip(all) {
            let id = TrialId(number);
            let slot = Slot { purpose: Purpose::Measure, block: 1, position: 1, attempt: 1, lane: 1, cell: cell.clone() };
            let mut end = TrialEnd::new(Outcome::Completed);
            end.metrics.insert("m".to_owned(), read.map(|(value, _)| value));
            end.units =
                Some(read.iter().filter(|(_, unit)| !unit.is_empty()).map(|(_, unit)| ("m".to_owned(), (*unit).to_owned())).collect());
            end.refused = if read.is_none() { vec!["m".to_owned()] } else { Vec::new() };
            end.metric_evidence.insert("m".to_owned(), Evidence::log(id, Stream::Stdout, 1, "m=1"));
            let record = TrialRecord { end: Some(Box::new(end)), ..TrialRecord::new(id, slot, TimeNs(0)) };
            trials.insert(id, record);
            whole.take(id, &mut trials);
        }
        let end = |trial: TrialRecord| trial.end.expect("it ended");
        trials.into_values().map(end).map(|end| (end.metrics["m"], end.metric_evidence["m"].text.clone())).collect()
    }

    #[test]
    fn values_in_one_unit_or_in_none_all_count() {
        for unit in ["", "MiB"] {
            let all = left(&[Some((1.0, unit)), Some((2.0, unit))]);
            assert_eq!(all, [(Some(1.0), "m=1".into()), (Some(2.0), "m=1".into())]);
        }
    }

    #[test]
    fn where_units_differ_no_value_counts_also_not_a_later_one() {
        for (other, said) in [("GiB", "GiB"), ("", "no unit")] {
            let all = left(&[Some((2048.0, "MiB")), Some((2.0, other)), Some((2048.0, "MiB"))]);
            assert!(all.iter().all(|(value, _)| value.is_none()), "{all:?}");
            let why = format!("2048 does not count: its unit differs between launches (MiB in trial 1, {said} in trial 2)");
            assert!(all[0].1.starts_with(&why) && all[2].1.starts_with(&why), "{all:?}");
        }
    }

    #[test]
    fn where_one_number_was_not_read_as_a_whole_the_others_do_not_count_alone() {
        let all = left(&[Some((999.0, "")), None, Some((998.0, ""))]);
        assert!(all.iter().all(|(value, _)| value.is_none()), "{all:?}");
        assert!(all[0].1.starts_with("999 does not count: in trial 2 m=1, at stdout:1"), "{all:?}");
    }
}
