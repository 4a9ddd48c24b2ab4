//! The only right answer to a trap, as its `expect.toml` has it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::Sprung;

/// What must come out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    /// What the trap is, in a sentence.
    trap: String,
    /// The exit code.
    exit: i32,
    /// How the run ended: `finished`, `invalid`, …
    status: Option<String>,
    /// The MiB that the whole run may have.
    pub(crate) memory_limit: Option<u64>,
    /// `ABOUT METRIC` to the verdict, with its strength where that matters: `effect shown`.
    #[serde(default)]
    answers: BTreeMap<String, String>,
    /// What every launch of a cell did.
    #[serde(default)]
    cells: Vec<Launches>,
    /// What must be said, in the report or on the way to it.
    #[serde(default)]
    says: Vec<String>,
    /// What must stand neither in an answer, `ABOUT METRIC: VERDICT STRENGTH. TEXT`, nor in the end of a launch, `trial N CELL: OUTCOME CAUSE DETAIL`.
    #[serde(default)]
    never: Vec<String>,
    /// Files beside the traps that this one runs with.
    #[serde(default)]
    pub(crate) shared: Vec<String>,
    /// Whether every file that the trap came with is afterwards what it was; `false` where somebody else writes there.
    #[serde(default = "yes")]
    pub(crate) undone: bool,
}

/// What every launch of a cell did.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Launches {
    /// The cell as tables name it, such as `custom/none`; every cell where it is left out.
    cell: Option<String>,
    outcome: String,
    /// The class of the cause.
    cause: Option<String>,
    /// What the cause says.
    says: Option<String>,
    /// How many there are at least.
    #[serde(default = "one")]
    least: usize,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

impl Expected {
    pub(crate) fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let expected = Self::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(!expected.trap.is_empty() && expected.checks(), "{}: nothing is expected", file.display());
        expected
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Whether anything but the exit code is expected.
    fn checks(&self) -> bool {
        !(self.answers.is_empty() && self.cells.is_empty() && self.says.is_empty())
    }

    pub(crate) fn assert(&self, name: &str, sprung: &Sprung) {
        let told = || format!("{name}: {}\n{}\n{}", self.trap, sprung.talk, sprung.told);
        assert_eq!(sprung.code, Some(self.exit), "the exit code of {}", told());
        if let Some(status) = &self.status {
            assert_eq!(sprung.report["status"].as_str(), Some(status.as_str()), "the end of {}", told());
        }
        for (about, verdict) in &self.answers {
            let given = answer(&sprung.report, about).unwrap_or_else(|| panic!("no answer about {about} in {}", told()));
            assert!(given.starts_with(verdict.as_str()), "{about} is {given}, not {verdict}, in {}", told());
        }
        for launches in &self.cells {
            launches.assert(&sprung.report, &told);
        }
        let said = [sprung.talk.as_str(), &sprung.told, &sprung.report.to_string()].join("\n");
        // Lines are wrapped for people.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in &self.says {
            assert!(said.contains(words.as_str()), "`{words}` is not said in {}", told());
        }
        let claims = claims(&sprung.report);
        for words in &self.never {
            assert!(!claims.contains(words.as_str()), "`{words}` is said in {claims}\n{}", told());
        }
    }
}

/// Every answer and the end of every launch, a line each.
fn claims(report: &Value) -> String {
    let each = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let answers = each("answers").into_iter().map(|answer| {
        let [about, metric, verdict, strength, words] =
            ["about", "metric", "verdict", "strength", "text"].map(|name| text(&answer[name]).to_owned());
        format!("{about} {metric}: {verdict} {strength}. {words}")
    });
    let trials = each("trials").into_iter().map(|trial| {
        let cell = cell_of(&trial);
        format!("trial {} {cell}: {} {} {}", trial["id"], text(&trial["outcome"]), text(&trial["cause"]), trial["cause_detail"])
    });
    answers.chain(trials).collect::<Vec<_>>().join("\n")
}

/// `VERDICT STRENGTH` of an answer.
fn answer(report: &Value, about: &str) -> Option<String> {
    let named = |answer: &&Value| format!("{} {}", text(&answer["about"]), text(&answer["metric"])) == about;
    let answer = report["answers"].as_array()?.iter().find(named)?;
    Some(format!("{} {}", text(&answer["verdict"]), text(&answer["strength"])))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl Launches {
    fn assert(&self, report: &Value, told: &dyn Fn() -> String) {
        let measured = |trial: &&Value| trial["purpose"] == "measure" && self.cell.as_ref().is_none_or(|cell| *cell == cell_of(trial));
        let trials: Vec<&Value> = report["trials"].as_array().into_iter().flatten().filter(measured).collect();
        assert!(trials.len() >= self.least, "{} launches of {:?} in {}", trials.len(), self.cell, told());
        for trial in trials {
            let (outcome, cause) = (text(&trial["outcome"]), text(&trial["cause"]));
            assert_eq!(outcome, self.outcome, "{trial:#} in {}", told());
            assert!(self.cause.as_ref().is_none_or(|class| class == cause), "{cause}, not {:?}: {trial:#} in {}", self.cause, told());
            let detail = trial["cause_detail"].to_string();
            assert!(self.says.as_ref().is_none_or(|words| detail.contains(words.as_str())), "{:?}: {trial:#} in {}", self.says, told());
        }
    }
}

/// A trial's cell as tables name it.
fn cell_of(trial: &Value) -> String {
    let levels = trial["levels"].as_object().into_iter().flatten().map(|(_, level)| text(level));
    levels.chain([text(&trial["instrument"])]).collect::<Vec<_>>().join("/")
}

#[test]
fn an_expectation_with_an_unknown_key_is_refused() {
    let known = "trap = \"a\"\nexit = 0\nnever = [\"effect\"]\n[[cells]]\noutcome = \"failed\"\n";
    assert!(Expected::parse(known).is_ok());
    for unknown in [known.replace("never", "nevr"), format!("{known}class = \"exit.code\"\n"), known.replace("[[cells]]", "[[cell]]")] {
        let refused = Expected::parse(&unknown).expect_err("an unknown key").to_string();
        assert!(refused.contains("unknown field"), "{refused}");
    }
}

#[test]
fn what_is_never_said_is_looked_for_in_verdicts_and_in_the_ends_of_launches() {
    let report = serde_json::json!({
        "answers": [{ "about": "factor:flag", "metric": "ms", "verdict": "no_effect_within", "strength": "shown", "text": "same" }],
        "trials": [{ "id": 3, "levels": { "flag": "on" }, "instrument": "none", "outcome": "failed", "cause": "exit.code", "cause_detail": { "summary": "exit code 7" } }],
    });
    assert_eq!(
        claims(&report),
        "factor:flag ms: no_effect_within shown. same\ntrial 3 on/none: failed exit.code {\"summary\":\"exit code 7\"}"
    );
}
