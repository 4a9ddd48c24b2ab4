//! Metrics read from output as it passes: nothing is kept but what matched.

use bystander_lab::json_path::{self, JsonPath};
use bystander_lab::plan::Pick;
use bystander_model::evidence::Evidence;
use bystander_model::ids::TrialId;
use bystander_model::plain::{pieces, text_without_orders};
use bystander_model::reading::{LogBlock, LogLine};

use super::figure::of_document;
use super::matched::Pattern;
use super::sieve::Sieve;
use super::tally::{Picked, Tally};

/// What lets lines through that may be JSON: a key may be spelt with escapes, so the path cannot say more.
const JSON: &str = r"^\s*[{\[]";

/// Reads metrics from one program's lines.
#[derive(Debug)]
pub(super) struct Lines {
    trial: TrialId,
    sieve: Sieve,
    sought: Vec<Sought>,
}

#[derive(Debug)]
struct Sought {
    name: String,
    what: What,
    tally: Tally,
}

#[derive(Debug)]
enum What {
    Pattern(Pattern),
    Json(JsonPath),
}

/// One metric to be read.
pub(super) struct Wanted<'p> {
    pub(super) name: &'p str,
    pub(super) text: &'p str,
    pub(super) is_json: bool,
    pub(super) pick: Pick,
}

impl Lines {
    /// Prepares the patterns. One that does not compile was refused with the plan; here it reads nothing.
    pub(super) fn new<'p>(trial: TrialId, wanted: impl IntoIterator<Item = Wanted<'p>>) -> Self {
        let sought: Vec<Sought> = wanted
            .into_iter()
            .filter_map(|wanted| {
                let what = match wanted.is_json {
                    true => What::Json(JsonPath::parse(wanted.text).ok()?),
                    false => What::Pattern(Pattern::new(wanted.text)?),
                };
                Some(Sought { name: wanted.name.to_owned(), what, tally: Tally::new(wanted.pick) })
            })
            .collect();
        let sieve = Sieve::new(sought.iter().map(|sought| match &sought.what {
            What::Pattern(pattern) => pattern.regex.as_str(),
            What::Json(_) => JSON,
        }));
        Self { trial, sieve, sought }
    }

    /// Takes lines of a stream, in their order.
    pub(super) fn block(&mut self, block: &LogBlock<'_>) {
        let Self { trial, sieve, sought } = self;
        let _every_line_was_looked_at: Option<()> = sieve.find_line(block, |line| {
            sought.iter_mut().for_each(|sought| sought.line(*trial, line));
            None
        });
    }

    /// How often each was matched so far.
    pub(super) fn matches(&self) -> Vec<u64> {
        self.sought.iter().map(|sought| sought.tally.matches()).collect()
    }

    /// Values by metric, with what shows them.
    pub(super) fn finish(self) -> Vec<(String, Picked)> {
        self.sought.into_iter().map(|sought| (sought.name, sought.tally.finish("matches"))).collect()
    }
}

impl Sought {
    fn line(&mut self, trial: TrialId, line: &LogLine<'_>) {
        let evidence = |piece: &str| Evidence::log(trial, line.stream, line.number, super::clip(piece.trim_end()));
        match &self.what {
            What::Pattern(pattern) => {
                let tally = &mut self.tally;
                pattern.each(line.text, |found| tally.read(found.read, || evidence(found.piece), || pattern.advice(found.piece)));
            }
            What::Json(path) => {
                let plain = text_without_orders(line.text);
                for piece in pieces(&plain).filter(|piece| piece.trim_start().starts_with(['{', '['])) {
                    let Ok(document) = serde_json::from_str(piece) else { continue };
                    for value in path.find(&document) {
                        self.tally.read(of_document(json_path::number(value)), || evidence(piece), String::new);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Wanted};
    use bystander_lab::plan::Pick;
    use bystander_model::evidence::Stream;
    use bystander_model::ids::{TimeNs, TrialId};
    use bystander_model::reading::LogBlock;

    fn read(wanted: &[(&str, bool, Pick)], text: &str) -> Vec<(Option<f64>, String)> {
        let all = wanted.iter().map(|(text, is_json, pick)| Wanted { name: text, text, is_json: *is_json, pick: *pick });
        let mut lines = Lines::new(TrialId(1), all);
        // Whatever the blocks are, the result is the same.
        let mut first = 1;
        for piece in text.split_inclusive("|\n") {
            let block = LogBlock { stream: Stream::Stderr, first, time: TimeNs(0), text: piece };
            lines.block(&block);
            first += block.count();
        }
        let told = |evidence: Option<bystander_model::evidence::Evidence>| {
            evidence.map(|found| format!("{} {}", found.place, found.text)).unwrap_or_default()
        };
        lines.finish().into_iter().map(|(_, picked)| (picked.value, told(picked.evidence))).collect()
    }

    #[test]
    fn values_come_from_the_lines_that_match_whatever_stands_between() {
        let text = "start\nm=3 |\nn=4\nnoise |\nm=5\n";
        let told = read(&[(r"m=(\d+)", false, Pick::Last), (r"n=(\d+)", false, Pick::Only), (r"o=(\d+)", false, Pick::Only)], text);
        assert_eq!(
            told,
            [(Some(5.0), "stderr:5 the last of 2 matches: m=5".into()), (Some(4.0), "stderr:3 n=4".into()), (None, String::new())]
        );
    }

    #[test]
    fn every_match_counts_wherever_it_stands_in_its_line() {
        let bar = "\rit/s=10\rit/s=20\rit/s=30\n|\nx=5 x=9\n";
        let of = |pick| read(&[(r"it/s=(\d+)$", false, pick), (r"^x=(\d)", false, Pick::Only), (r"x=(\d)", false, pick)], bar);
        let told = of(Pick::Last);
        assert_eq!(told[0], (Some(30.0), "stderr:1 the last of 3 matches: it/s=30".into()));
        assert_eq!((told[1].0, told[2].0), (Some(5.0), Some(9.0)));
        assert_eq!((of(Pick::Max)[0].0, of(Pick::Sum)[0].0, of(Pick::First)[2].0), (Some(30.0), Some(60.0), Some(5.0)));
        assert_eq!(of(Pick::Only)[0], (None, "stderr:1 one of 3 matches, so none counts: it/s=10".into()));
        assert_eq!(of(Pick::Only)[2], (None, "stderr:3 one of 2 matches, so none counts: x=5 x=9".into()));
    }

    #[test]
    fn lines_that_are_json_give_what_a_path_leads_to() {
        let text = "x\n{\"a\": {\"b\": 1}}\n  {\"a\": {\"b\": \"2\"}}\n|\n{\"a\": 3}\nnot {\"a\": {\"b\": 9}}\n{\"a\": {\"b\": 9}\n{\"\\u0061\": {\"b\": 4}}\n";
        assert_eq!(read(&[("a.b", true, Pick::Sum), (r"x(\d)", false, Pick::Only)], text)[0].0, Some(7.0));
        assert_eq!(read(&[("a.b", true, Pick::Only)], text)[0].0, None);
    }

    #[test]
    fn lines_with_colours_are_read_as_they_are_shown() {
        let text = "a\n\x1b[1mtok=\x1b[0m5\r\n|\nb\n\x1b[2m{\"a\": 3}\x1b[0m\n";
        let told = read(&[(r"^tok=(\d+)$", false, Pick::Only), ("a", true, Pick::Only)], text);
        assert_eq!(told, [(Some(5.0), "stderr:2 tok=5".into()), (Some(3.0), "stderr:5 {\"a\": 3}".into())]);
    }
}
