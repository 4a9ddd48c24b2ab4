//! Several matches become one value, or none with the reason.

use bystander_lab::exact::TOO_LONG;
use bystander_lab::plan::Pick;
use bystander_model::evidence::Evidence;

use super::figure::{Figure, NoFigure};

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
    /// Why the first that was a part of a number, or too long a one, does not count.
    refused: Option<String>,
    /// The unit of what counts, or of the first; and the first other one that was seen.
    unit: &'static str,
    other_unit: Option<&'static str>,
}

/// What came of the matches.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Picked {
    pub(super) value: Option<f64>,
    /// What shows the value, or why there is none.
    pub(super) evidence: Option<Evidence>,
    /// The unit that stood behind it; empty where none that is known did.
    pub(super) unit: &'static str,
    /// Whether there was a number that could not be read as a whole: where others can, those alone would mislead.
    pub(super) refused: bool,
}

impl Picked {
    /// A value and what shows it.
    pub(super) fn of(value: Option<f64>, evidence: Option<Evidence>) -> Self {
        Self { value, evidence, ..Self::default() }
    }
}

impl Tally {
    pub(super) fn new(pick: Pick) -> Self {
        Self { pick, matches: 0, value: None, shown: None, odd: None, refused: None, unit: "", other_unit: None }
    }

    /// Takes a match as it was read. One that is no number counts as one all the same: it makes an "only" ambiguous rather than invisible. `advice` says how
    /// a part of a number would be read as a whole.
    pub(super) fn read(&mut self, read: Result<Figure, NoFigure>, evidence: impl FnOnce() -> Evidence, advice: impl FnOnce() -> String) {
        self.matches += 1;
        let value = read.as_ref().ok().map(|figure| figure.value);
        let is_first = self.matches == 1;
        let is_better = match (self.pick, self.value, value) {
            (Pick::Last, ..) => true,
            (Pick::Only | Pick::First, ..) => is_first,
            (_, None, Some(_)) => true,
            (Pick::Min, Some(old), Some(new)) => new < old,
            (Pick::Max, Some(old), Some(new)) => new > old,
            _ => false,
        };
        if let Ok(Figure { unit, .. }) = read {
            if self.value.is_some() && unit != self.unit {
                self.other_unit.get_or_insert(unit);
            }
            if is_better && (self.value.is_none() || matches!(self.pick, Pick::Last)) {
                self.unit = unit;
            }
        }
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
        if self.refused.is_none() {
            self.refused = match read {
                Err(NoFigure::Part(what)) => Some(format!("the match {what}; {}", advice())),
                Err(NoFigure::TooLong) => Some(TOO_LONG.to_owned()),
                _ => None,
            };
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
    pub(super) fn finish(self, what: &str) -> Picked {
        let Some(mut shown) = self.shown else { return Picked::default() };
        let matches = self.matches;
        if self.pick == Pick::Only && matches > 1 {
            shown.text = format!("one of {matches} {what}, so none counts: {}", shown.text);
            return Picked::of(None, Some(shown));
        }
        let all_count = matches!(self.pick, Pick::Min | Pick::Max | Pick::Sum | Pick::Mean);
        if let Some((mut odd, count)) = self.odd.filter(|_| all_count || self.value.is_none()) {
            let of = match (&self.refused, count < matches) {
                (Some(refused), false) => format!("{refused}:"),
                (Some(refused), true) => format!("{refused}; {count} of {matches} {what} are no whole numbers, so none counts, such as"),
                (None, true) => format!("{count} of {matches} {what} are no numbers, so none counts, such as"),
                (None, false) => "the match is not a number:".to_owned(),
            };
            odd.text = format!("{of} {}", odd.text);
            return Picked { refused: self.refused.is_some(), ..Picked::of(None, Some(odd)) };
        }
        if let Some(other) = self.other_unit.filter(|_| all_count) {
            let [one, other] = [self.unit, other].map(|unit| if unit.is_empty() { "no unit" } else { unit });
            shown.text = format!("the {matches} {what} are in different units ({one}, {other}), so none counts, such as {}", shown.text);
            return Picked { refused: true, ..Picked::of(None, Some(shown)) };
        }
        let value = match self.pick {
            Pick::Mean => self.value.map(|sum| sum / matches as f64),
            _ => self.value,
        };
        if value.is_some_and(|value| !value.is_finite()) {
            shown.text = format!("the {matches} {what} together are larger than a number can be, beginning with {}", shown.text);
            return Picked { refused: true, ..Picked::of(None, Some(shown)) };
        }
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
        Picked { unit: self.unit, ..Picked::of(value, Some(shown)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::{Figure, NoFigure, figure};
    use super::{Picked, Tally};
    use bystander_lab::plan::Pick;
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::ids::TrialId;

    fn read(pick: Pick, values: &[&str]) -> (Option<f64>, String) {
        let mut tally = Tally::new(pick);
        for (number, value) in (1..).zip(values) {
            let read = figure(value).map(|value| Figure { value, unit: "" });
            tally.read(read, || Evidence::log(TrialId(1), Stream::Stderr, number, *value), String::new);
        }
        let Picked { value, evidence, .. } = tally.finish("matching lines");
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

    #[test]
    fn a_part_of_a_number_is_refused_and_other_units_are_not_put_together() {
        let told = |pick: Pick, reads: &[Result<(f64, &'static str), NoFigure>]| {
            let mut tally = Tally::new(pick);
            for (number, read) in (1..).zip(reads) {
                let read = (*read).map(|(value, unit)| Figure { value, unit });
                tally.read(read, || Evidence::log(TrialId(1), Stream::Stderr, number, "here"), || "write it so".to_owned());
            }
            tally.finish("matches")
        };
        let part = told(Pick::Only, &[Err(NoFigure::Part("stops within a number"))]);
        assert!(part.refused && part.value.is_none());
        assert_eq!(part.evidence.expect("evidence").text, "the match stops within a number; write it so: here");
        assert!(told(Pick::Only, &[Err(NoFigure::TooLong)]).refused && !told(Pick::Only, &[Err(NoFigure::NotANumber)]).refused);
        let mixed = [Ok((900.0, "us")), Ok((1.2, "ms"))];
        let most = told(Pick::Max, &mixed);
        assert!(most.refused && most.evidence.is_some_and(|evidence| evidence.text.contains("different units (us, ms)")));
        let last = told(Pick::Last, &mixed);
        assert_eq!((last.value, last.unit, told(Pick::First, &mixed).unit), (Some(1.2), "ms", "us"));
        let huge = told(Pick::Sum, &[Ok((1e308, "")), Ok((1e308, ""))]);
        assert!(huge.value.is_none() && huge.evidence.is_some_and(|evidence| evidence.text.contains("larger than a number can be")));
    }
}
