//! Metrics read from lines as they pass: nothing is kept but what matched.

use bystander_lab::plan::{MetricSource, Pick, Plan};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::TrialId;
use indexmap::IndexMap;
use regex::Regex;

/// Reads the metrics of one trial.
#[derive(Debug)]
pub struct Reader {
    trial: TrialId,
    sought: Vec<Sought>,
}

#[derive(Debug)]
struct Sought {
    name: String,
    pattern: Regex,
    pick: Pick,
    of_workload: bool,
    matches: u64,
    value: Option<f64>,
    evidence: Option<Evidence>,
}

impl Reader {
    /// Prepares the patterns of a plan. A pattern that does not compile was refused with the plan; here it reads nothing.
    #[must_use]
    pub fn new(plan: &Plan, trial: TrialId) -> Self {
        let sought = plan.metrics.iter().filter_map(|(name, metric)| {
            let (pattern, pick, of_workload) = match &metric.source {
                MetricSource::Log { pattern, pick } => (pattern, *pick, false),
                MetricSource::Workload { pattern, pick } => (pattern, *pick, true),
                _ => return None,
            };
            let pattern = Regex::new(pattern).ok()?;
            Some(Sought { name: name.clone(), pattern, pick, of_workload, matches: 0, value: None, evidence: None })
        });
        Self { trial, sought: sought.collect() }
    }

    /// Takes one line.
    pub fn line(&mut self, stream: Stream, number: u64, text: &str) {
        for sought in self.sought.iter_mut().filter(|sought| sought.of_workload == stream.is_of_workload()) {
            let Some(found) = sought.pattern.captures(text).and_then(|groups| groups.get(1)) else { continue };
            // A match that is no number is a match all the same: it makes an "only" ambiguous rather than invisible.
            sought.take(found.as_str().parse().ok(), || Evidence::log(self.trial, stream, number, text.trim_end()));
        }
    }

    /// The values and where each was read.
    #[must_use]
    pub fn finish(self) -> (IndexMap<String, Option<f64>>, IndexMap<String, Evidence>) {
        let mut values = IndexMap::new();
        let mut evidence = IndexMap::new();
        for sought in self.sought {
            let ambiguous = sought.pick == Pick::Only && sought.matches > 1;
            values.insert(sought.name.clone(), sought.value.filter(|_| !ambiguous));
            if let Some(mut found) = sought.evidence {
                if ambiguous {
                    found.text = format!("one of {} matching lines, so none counts: {}", sought.matches, found.text);
                } else if sought.value.is_none_or(|value| !value.is_finite()) {
                    found.text = format!("the match is not a number: {}", found.text);
                }
                evidence.insert(sought.name, found);
            }
        }
        (values, evidence)
    }
}

/// Adds the metrics that are times of the trial itself.
pub fn add_times(plan: &Plan, values: &mut IndexMap<String, Option<f64>>, ready_s: Option<f64>, wall_s: f64) {
    for (name, metric) in &plan.metrics {
        match metric.source {
            MetricSource::ReadySeconds => values.insert(name.clone(), ready_s),
            MetricSource::WallSeconds => values.insert(name.clone(), Some(wall_s)),
            _ => continue,
        };
    }
}

impl Sought {
    fn take(&mut self, value: Option<f64>, evidence: impl FnOnce() -> Evidence) {
        self.matches += 1;
        let better = match (self.pick, self.value, value) {
            (_, None, _) | (Pick::Last, _, _) => true,
            (Pick::Min, Some(old), Some(new)) => new < old,
            (Pick::Max, Some(old), Some(new)) => new > old,
            _ => false,
        };
        if better {
            self.evidence = Some(evidence());
        }
        self.value = match (self.pick, self.value, value) {
            (Pick::Sum | Pick::Mean, Some(old), Some(new)) => Some(old + new),
            (_, _, new) if better => new,
            (_, old, _) => old,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, Sought};
    use bystander_lab::plan::Pick;
    use bystander_model::evidence::Stream;
    use bystander_model::ids::TrialId;

    fn read(pick: Pick, lines: &[&str]) -> Option<f64> {
        let sought = Sought {
            name: "m".into(),
            pattern: regex::Regex::new(r"m=(\S+)").expect("pattern"),
            pick,
            of_workload: false,
            matches: 0,
            value: None,
            evidence: None,
        };
        let mut reader = Reader { trial: TrialId(1), sought: vec![sought] };
        for (number, line) in (1..).zip(lines) {
            reader.line(Stream::Stderr, number, line);
        }
        reader.finish().0["m"]
    }

    #[test]
    fn exactly_one_match_is_a_value_and_several_are_none() {
        assert_eq!(read(Pick::Only, &["x", "m=3"]), Some(3.0));
        assert_eq!(read(Pick::Only, &["m=3", "m=3"]), None);
        assert_eq!(read(Pick::Only, &["x"]), None);
        assert_eq!(read(Pick::Only, &["m=many"]), None);
    }

    #[test]
    fn declared_reductions_take_several() {
        let lines = ["m=3", "m=1", "m=2"];
        assert_eq!(read(Pick::First, &lines), Some(3.0));
        assert_eq!(read(Pick::Last, &lines), Some(2.0));
        assert_eq!(read(Pick::Min, &lines), Some(1.0));
        assert_eq!(read(Pick::Max, &lines), Some(3.0));
        assert_eq!(read(Pick::Sum, &lines), Some(6.0));
    }
}
