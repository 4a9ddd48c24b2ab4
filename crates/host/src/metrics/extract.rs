//! One number out of a text that is there as a whole: a file or an answer.

use bystander_lab::json_path::{self, JsonPath};
use bystander_lab::plan::{Extract, Pick};
use bystander_model::evidence::Evidence;
use regex::Regex;

use super::figure::figure;
use super::pieces::matches;
use super::tally::Tally;

/// Reads it. `at` makes evidence of a place in the text (a line or a path) and what stands there.
pub(super) fn read(text: &str, what: &Extract, pick: Pick, at: impl Fn(&str, &str) -> Evidence) -> (Option<f64>, Evidence) {
    let mut tally = Tally::new(pick);
    let nothing = match what {
        Extract::Pattern(pattern) => {
            // A pattern that does not compile was refused with the plan.
            let Ok(regex) = Regex::new(pattern) else { return (None, at("", "the pattern cannot be used")) };
            for (number, line) in (1..).zip(text.lines()) {
                for (value, piece) in matches(&regex, line) {
                    tally.take(figure(value), || at(&format!(":{number}"), super::clip(piece.trim())));
                }
            }
            "no line matches".to_owned()
        }
        Extract::Json(path) => {
            let document = match serde_json::from_str(text) {
                Ok(document) => document,
                Err(error) => return (None, at("", &format!("this is no JSON document: {error}"))),
            };
            let Ok(parsed) = JsonPath::parse(path) else { return (None, at("", "the path cannot be used")) };
            for value in parsed.find(&document) {
                let number = json_path::number(value);
                let shown = number.as_ref().map_or_else(|what| format!("{path} is {what}"), |number| format!("{path} is {number}"));
                tally.take(number.ok(), || at(&format!(" {path}"), &shown));
            }
            parsed.lost(&document)
        }
    };
    let (value, evidence) = tally.finish(if matches!(what, Extract::Json(_)) { "values" } else { "matches" });
    (value, evidence.unwrap_or_else(|| at("", &nothing)))
}

#[cfg(test)]
mod tests {
    use super::read;
    use bystander_lab::plan::{Extract, Pick};
    use bystander_model::evidence::Evidence;
    use bystander_model::ids::TrialId;

    fn told(text: &str, what: &Extract, pick: Pick) -> (Option<f64>, String) {
        let (value, evidence) = read(text, what, pick, |place, text| Evidence::sample(TrialId(1), &format!("out{place}"), text));
        (value, format!("{} {}", evidence.place, evidence.text))
    }

    #[test]
    fn a_document_gives_the_number_at_a_path_or_says_where_the_path_ends() {
        let text = r#"{"a": [{"b": 1}, {"b": "2.5"}, {"b": null}], "n": 7}"#;
        let json = |path: &str| Extract::Json(path.into());
        assert_eq!(told(text, &json("n"), Pick::Only), (Some(7.0), "out n n is 7".into()));
        assert_eq!(told(text, &json("a[1].b"), Pick::Only).0, Some(2.5));
        assert_eq!(told(text, &json("a[2].b"), Pick::Only), (None, "out a[2].b the match is not a number: a[2].b is null".into()));
        assert_eq!(told(text, &json("a[*].b"), Pick::First).0, Some(1.0));
        assert_eq!(told(text, &json("a[*].b"), Pick::Sum).0, None);
        assert_eq!(told(text, &json("x"), Pick::Only), (None, "out the document has no `x`: it is an object with `a`, `n`".into()));
        assert!(told("{", &json("x"), Pick::Only).1.contains("no JSON document"));
        assert_eq!(told("", &json("x"), Pick::Only).0, None);
    }

    #[test]
    fn a_text_gives_the_number_of_its_one_matching_line() {
        let pattern = Extract::Pattern(r"p50=(\S+)".into());
        assert_eq!(told("x\np50=3.5 ms\n", &pattern, Pick::Only), (Some(3.5), "out:2 p50=3.5 ms".into()));
        assert_eq!(told("p50=1\np50=2\n", &pattern, Pick::Only).0, None);
        assert_eq!(
            told("p50=1 p50=2\np50=3\n", &pattern, Pick::Sum),
            (Some(6.0), "out:1 the sum, beginning here, of 3 matches: p50=1 p50=2".into())
        );
        assert_eq!(told("p50=1 p50=2\n", &pattern, Pick::Only), (None, "out:1 one of 2 matches, so none counts: p50=1 p50=2".into()));
        assert_eq!(told("", &pattern, Pick::Only), (None, "out no line matches".into()));
    }
}
