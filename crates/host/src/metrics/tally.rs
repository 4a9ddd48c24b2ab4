//! Several matches become one value, or none with the reason.

use bystander_lab::plan::Pick;
use bystander_model::evidence::Evidence;

/// What was matched so far.
#[derive(Debug)]
pub(super) struct Tally {
    pick: Pick,
    matches: u64,
    /// The value so far: the one that counts, or the sum.
    value: Option<f64>,
    /// What showed it, or the first match.
    shown: Option<Evidence>,
    /// The first match that was no number, and how many there were.
    odd: Option<(Evidence, u64)>,
}

impl Tally {
    pub(super) fn new(pick: Pick) -> Self {
        Self { pick, matches: 0, value: None, shown: None, odd: None }
    }

    /// Takes a match; `None` is a match that is no number, which counts as one all the same: it makes an "only" ambiguous rather than invisible.
    pub(super) fn take(&mut self, value: Option<f64>, evidence: impl FnOnce() -> Evidence) {
        self.matches += 1;
        let value = value.filter(|value| value.is_finite());
        let is_first = self.matches == 1;
        let is_better = match (self.pick, self.value, value) {
            (Pick::Last, ..) => true,
            (Pick::Only | Pick::First, ..) => is_first,
            (_, None, Some(_)) => true,
            (Pick::Min, Some(old), Some(new)) => new < old,
            (Pick::Max, Some(old), Some(new)) => new > old,
            _ => false,
        };
        if value.is_none() && self.odd.is_some() {
            self.odd.iter_mut().for_each(|(_, count)| *count += 1);
        }
        if is_better || is_first || (value.is_none() && self.odd.is_none()) {
            let evidence = evidence();
            if value.is_none() && self.odd.is_none() {
                self.odd = Some((evidence.clone(), 1));
            }
            if is_better || is_first {
                self.shown = Some(evidence);
            }
        }
        self.value = match (self.pick, self.value, value) {
            (Pick::Sum | Pick::Mean, Some(old), Some(new)) => Some(old + new),
            (_, _, new) if is_better => new,
            (_, old, _) => old,
        };
    }

    /// How many matches there were.
    pub(super) const fn matches(&self) -> u64 {
        self.matches
    }

    /// The value and what shows it, or what shows why there is none. `what` are the matches, such as `matching lines`.
    pub(super) fn finish(self, what: &str) -> (Option<f64>, Option<Evidence>) {
        let Some(mut shown) = self.shown else { return (None, None) };
        let matches = self.matches;
        if self.pick == Pick::Only && matches > 1 {
            shown.text = format!("one of {matches} {what}, so none counts: {}", shown.text);
            return (None, Some(shown));
        }
        let all_count = matches!(self.pick, Pick::Min | Pick::Max | Pick::Sum | Pick::Mean);
        if let Some((mut odd, count)) = self.odd.filter(|_| all_count || self.value.is_none()) {
            let of = if count < matches {
                format!("{count} of {matches} {what} are no numbers, so none counts, such as")
            } else {
                "the match is not a number:".to_owned()
            };
            odd.text = format!("{of} {}", odd.text);
            return (None, Some(odd));
        }
        let value = match self.pick {
            Pick::Mean => self.value.map(|sum| sum / matches as f64),
            _ => self.value,
        };
        if matches > 1 {
            let word = match self.pick {
                Pick::Only | Pick::First => "the first",
                Pick::Last => "the last",
                Pick::Min => "the least",
                Pick::Max => "the greatest",
                Pick::Sum => "the sum, beginning here,",
                Pick::Mean => "the mean, beginning here,",
            };
            shown.text = format!("{word} of {matches} {what}: {}", shown.text);
        }
        (value.filter(|value| value.is_finite()), Some(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use bystander_lab::plan::Pick;
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::ids::TrialId;

    fn read(pick: Pick, values: &[&str]) -> (Option<f64>, String) {
        let mut tally = Tally::new(pick);
        for (number, value) in (1..).zip(values) {
            tally.take(value.parse().ok(), || Evidence::log(TrialId(1), Stream::Stderr, number, *value));
        }
        let (value, evidence) = tally.finish("matching lines");
        (value, evidence.map(|evidence| format!("{} {}", evidence.place, evidence.text)).unwrap_or_default())
    }

    #[test]
    fn exactly_one_match_is_a_value_and_several_are_none() {
        assert_eq!(read(Pick::Only, &["3"]), (Some(3.0), "stderr:1 3".into()));
        assert_eq!(read(Pick::Only, &["3", "3"]), (None, "stderr:1 one of 2 matching lines, so none counts: 3".into()));
        assert_eq!(read(Pick::Only, &[]), (None, String::new()));
        assert_eq!(read(Pick::Only, &["many"]), (None, "stderr:1 the match is not a number: many".into()));
        assert_eq!(read(Pick::Only, &["inf"]).0, None);
    }

    #[test]
    fn declared_reductions_take_several_and_say_how_many() {
        let values = ["3", "1", "2"];
        assert_eq!(read(Pick::First, &values), (Some(3.0), "stderr:1 the first of 3 matching lines: 3".into()));
        assert_eq!(read(Pick::Last, &values), (Some(2.0), "stderr:3 the last of 3 matching lines: 2".into()));
        assert_eq!(read(Pick::Min, &values), (Some(1.0), "stderr:2 the least of 3 matching lines: 1".into()));
        assert_eq!(read(Pick::Max, &values), (Some(3.0), "stderr:1 the greatest of 3 matching lines: 3".into()));
        assert_eq!((read(Pick::Sum, &values).0, read(Pick::Mean, &values).0), (Some(6.0), Some(2.0)));
    }

    #[test]
    fn one_match_that_is_no_number_takes_the_value_from_reductions_over_all() {
        let values = ["3", "x", "2"];
        for pick in [Pick::Min, Pick::Max, Pick::Sum, Pick::Mean] {
            assert_eq!(read(pick, &values), (None, "stderr:2 1 of 3 matching lines are no numbers, so none counts, such as x".into()));
        }
        assert_eq!((read(Pick::First, &values).0, read(Pick::Last, &values).0), (Some(3.0), Some(2.0)));
        assert_eq!(read(Pick::Last, &["3", "x"]).0, None);
        assert_eq!(read(Pick::First, &["x", "3"]).0, None);
        assert_eq!(read(Pick::Sum, &["x", "3"]).0, None);
    }
}
