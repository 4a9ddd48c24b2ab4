//! Quantities as people write them: a number with its unit, such as `1GiB`, or several, such as `1h30m`.

use super::item::Item;
use super::problems::Problems;

/// What is measured: its units, and the words for it.
pub(super) struct Measure {
    /// What a quantity of it is called.
    pub(super) name: &'static str,
    /// Its units with their size in the smallest whole one, the greatest first where several may follow one another.
    pub(super) units: &'static [(&'static str, f64)],
    /// Whether several numbers may follow one another.
    pub(super) compound: bool,
    /// The greatest quantity that is taken, and how that is said.
    pub(super) most: (f64, &'static str),
    /// One example, quoted.
    pub(super) example: &'static str,
    /// How it is written, for whoever wrote it otherwise.
    pub(super) forms: &'static str,
    /// The unit that a number without one most likely has.
    pub(super) likely: &'static str,
}

/// Why a text is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum QuantityError {
    /// There is nothing in it.
    #[error("read a {0} from an empty text")]
    Empty(&'static str),
    /// A number is missing before a unit, or is no number.
    #[error("find a number at `{0}`")]
    NoNumber(String),
    /// A number has no unit.
    #[error("find a unit after `{0}`")]
    NoUnit(String),
    /// The unit is none of those that are known.
    #[error("know the unit `{0}`")]
    UnknownUnit(String),
    /// A unit comes twice, or after a smaller one.
    #[error("take the unit `{0}` at this place: units go from great to small, each once")]
    Order(String),
    /// More than one number with its unit.
    #[error("take `{0}`: it is one number with one unit")]
    Second(String),
    /// It is more than the greatest that is taken.
    #[error("take a {0} of more than {1}")]
    TooLarge(&'static str, &'static str),
}

impl Measure {
    /// Reads a quantity, in the unit whose size is 1; a lone `0` needs no unit.
    pub(super) fn parse(&self, text: &str) -> Result<f64, QuantityError> {
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(QuantityError::Empty(self.name));
        }
        let (mut sum, mut next_unit) = (0.0, 0);
        while !rest.is_empty() {
            let (number, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
            let (unit, after) = split(after.trim_start(), |c| !c.is_ascii_digit() && c != '.' && !c.is_whitespace());
            let value: f64 = number.parse().map_err(|_no_number: std::num::ParseFloatError| QuantityError::NoNumber(rest.to_owned()))?;
            if unit.is_empty() && after.is_empty() && value == 0.0 && next_unit == 0 {
                return Ok(0.0);
            }
            let index = self.unit(number, unit)?;
            if next_unit > 0 && !self.compound {
                return Err(QuantityError::Second(rest.to_owned()));
            }
            if self.compound && index < next_unit {
                return Err(QuantityError::Order(unit.to_owned()));
            }
            next_unit = index + 1;
            sum += value * self.units[index].1;
            rest = after.trim_start();
        }
        if sum > self.most.0 { Err(QuantityError::TooLarge(self.name, self.most.1)) } else { Ok(sum) }
    }

    fn unit(&self, number: &str, unit: &str) -> Result<usize, QuantityError> {
        if unit.is_empty() {
            return Err(QuantityError::NoUnit(number.to_owned()));
        }
        let known = self.units.iter().position(|(name, _)| *name == unit);
        known.ok_or_else(|| QuantityError::UnknownUnit(unit.to_owned()))
    }

    /// Reads a quantity from the file, in the unit whose size is 1.
    pub(super) fn read(&self, item: &Item<'_>, problems: &mut Problems<'_>) -> Option<f64> {
        let Some(text) = item.value.as_str() else {
            let problem = item.expected(&format!("a {}, a string such as {}", self.name, self.example));
            let written = problems.source(&item.span).to_owned();
            let number = item.value.is_integer() || item.value.is_float();
            problems.push(&item.span, if number { problem.help(self.say_the_unit(&written)) } else { problem });
            return None;
        };
        match self.parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                let why = format!("is no {}", self.name);
                problems.push(&item.span, item.invalid(&why).label(format!("failed to {error}")).help(self.help(text, &error)));
                None
            }
        }
    }

    fn help(&self, text: &str, error: &QuantityError) -> String {
        match error {
            QuantityError::NoUnit(number) if text.trim() == number => self.say_the_unit(number),
            QuantityError::UnknownUnit(unit) => match self.meant(unit) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write it like {}", self.forms),
            },
            _ => format!("write it like {}", self.forms),
        }
    }

    fn say_the_unit(&self, number: &str) -> String {
        format!("say the unit: \"{number}{}\"", self.likely)
    }

    /// The unit that was written in other letters, at greater length (`min`), or by the first letter of its name (`g`).
    pub(super) fn meant(&self, written: &str) -> Option<&'static str> {
        let names = || self.units.iter().map(|(name, _)| *name);
        let begins = |text: &str, with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
        let same = names().find(|name| name.eq_ignore_ascii_case(written));
        let longer = || names().filter(|name| begins(written, name)).max_by_key(|name| name.len());
        let first = || names().find(|name| name.contains('i') && written.len() == 1 && begins(name, written));
        same.or_else(longer).or_else(first)
    }
}

fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}
