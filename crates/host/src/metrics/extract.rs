//! One number out of a text that is there as a whole: a file or an answer.

use bystander_lab::json_path::{self, JsonPath};
use bystander_lab::plan::{Extract, Pick};
use bystander_model::evidence::Evidence;

use super::matched::Pattern;
use super::tally::{Picked, Tally};

/// Reads it. `at` makes evidence of a place in the text (a line or a path) and what stands there; `before` lines stand before the text, where that is known.
pub(super) fn read(text: &str, before: Option<u64>, what: &Extract, pick: Pick, at: impl Fn(&str, &str) -> Evidence) -> Picked {
    let none = |text: &str| Picked::of(None, Some(at("", text)));
    let mut tally = Tally::new(pick);
    let nothing = match what {
        Extract::Pattern(pattern) => {
            // A pattern that does not compile was refused with the plan.
            let Some(pattern) = Pattern::new(pattern) else { return none("the pattern cannot be used") };
            for (number, line) in (1_u64..).zip(text.lines()) {
                let place = || before.map_or_else(|| format!(", new line {number}"), |before| format!(":{}", before + number));
                pattern.each(line, |found| {
                    tally.read(found.read, || at(&place(), super::clip(found.piece.trim())), || pattern.advice(found.piece));
                });
            }
            "no line matches".to_owned()
        }
        Extract::Json(path) => {
            let document = match serde_json::from_str(text) {
                Ok(document) => document,
                Err(error) => return none(&format!("this is no JSON document: {error}")),
            };
            let Ok(parsed) = JsonPath::parse(path) else { return none("the path cannot be used") };
            for value in parsed.find(&document) {
                let number = json_path::number(value);
                let shown = number.as_ref().map_or_else(|what| format!("{path} is {what}"), |number| format!("{path} is {number}"));
                tally.read(super::figure::of_document(number), || at(&format!(" {path}"), &shown), String::new);
            }
            parsed.lost(&document)
        }
    };
    let picked = tally.finish(if matches!(what, Extract::Json(_)) { "values" } else { "matches" });
    if picked.evidence.is_none() { none(&nothing) } else { picked }
}

#[cfg(test)]
mod tests {
    use super::read;
    use bystander_lab::plan::{Extract, Pick};
    use bystander_model::evidence::Evidence;
    use bystander_model::ids::TrialId;

    fn told(text: &str, what: &Extract, pick: Pick) -> (Option<f64>, String) {
        let picked = read(text, Some(0), what, pick, |place, text| Evidence::sample(TrialId(1), &format!("out{place}"), text));
        let (value, evidence) = (picked.value, picked.evidence.expect("there always is one"));
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

    #[test]
    fn a_number_that_cannot_be_held_is_refused_wherever_it_stands() {
        let text = r#"{"a": 9007199254740993, "b": "9007199254740993", "c": 9007199254740992}"#;
        for path in ["a", "b"] {
            let (value, said) = told(text, &Extract::Json(path.into()), Pick::Only);
            assert!(value.is_none() && said.contains("more digits than can be compared"), "{said}");
        }
        assert_eq!(told(text, &Extract::Json("c".into()), Pick::Only).0, Some(9_007_199_254_740_992.0));
    }
}
