//! Logs of earlier runs: what each shows of itself, what sets it apart from each cell, and what it may say.

use std::io::Cursor;

use bystander_lab::cause::CauseReader;
use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::old_log;
use bystander_lab::plan::{Blocks, Hypothesis, OldLogFile, Plan, Prediction, Ready};
use bystander_lab::printed;
use bystander_model::budget::VersionRange;
use bystander_model::cell::Cell;
use bystander_model::event::TrialEnd;
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;
use bystander_model::old_log::OldLog;
use bystander_model::outcome::Outcome;
use bystander_model::reading::{ErrorSeen, LogLine, Reading};
use bystander_model::report::{Strength, Verdict};
use indexmap::IndexMap;

use crate::scripted::{Ends, Kept, Scripted, answer, create, plan, summary_of};

const FAILED: &str = "toy args=Args(fraction=0.55, port=30000, seed=7)\nloading\nTraceback (most recent call last):\n  File \"/srv/sizing.py\", line 12, in size\n    raise RuntimeError(\"Not enough memory\")\nRuntimeError: Not enough memory\n";
const READY: &str = "toy args=Args(fraction=0.88, port=30000, seed=7)\nloading\nready to roll\n";

/// Knows the line in which the toy engine prints its arguments.
#[derive(Default)]
struct Toy(Option<(u64, String)>);

impl CauseReader for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn line(&mut self, line: &LogLine<'_>) {
        if line.text.contains("args=") {
            self.0.get_or_insert((line.number, line.text.to_owned()));
        }
    }

    fn hit(&mut self, _hit: &Hit) {}

    fn finish(&self, trial: TrialId, _error: Option<&ErrorSeen<'_>>) -> Reading {
        let configuration = self.0.as_ref().map(|(number, text)| Evidence::log(trial, Stream::Stderr, *number, text));
        Reading { configuration, ..Reading::default() }
    }
}

fn file(name: &str) -> OldLogFile {
    OldLogFile { name: name.into(), log: format!("/logs/{name}").into(), span: 0..0 }
}

fn ready_plan(levels: &[&str]) -> Plan {
    let mut plan = Plan { blocks: Blocks { min: 1, max: 1 }, ..plan(levels, &["print"]) };
    plan.program.ready = Some(Ready { log: vec!["ready to roll".into()], ..Ready::default() });
    plan
}

fn read(plan: &Plan, text: &str) -> OldLog {
    old_log::read(&file("old.log"), plan, Cursor::new(text.as_bytes().to_vec()), vec![Box::new(Toy::default())]).expect("it is read")
}

/// A run whose launches print a configuration each, and what they come to.
fn ran(plan: &Plan, log: OldLog, outcome: Outcome) -> Ledger {
    let mut sink = Kept::default();
    let mut ledger = create(plan, &mut sink).expect("recorded");
    conduct::take_old_logs(&mut ledger, vec![log], &mut sink).expect("recorded");
    let script = move |cell: &Cell, n: u32| {
        let fraction = if cell.levels.get("arm").is_some_and(|arm| arm == "b") { "0.88" } else { "0.55" };
        let text = format!("toy args=Args(fraction={fraction}, port=4{n}123, seed={n})");
        let configuration = Some(Evidence::log(TrialId(1), Stream::Stderr, 1, text));
        Ends::As(Box::new(TrialEnd { configuration, ..TrialEnd::new(outcome) }))
    };
    conduct::conduct(&mut ledger, &Scripted::new(script), &mut sink).expect("recorded");
    let again = Ledger::replay(&ledger.run, sink.events).expect("whole");
    assert_eq!(again.old_logs, ledger.old_logs);
    ledger
}

#[test]
fn a_log_that_ends_in_a_traceback_failed_by_its_own_lines() {
    let log = read(&ready_plan(&["a", "b"]), FAILED);
    assert_eq!((log.outcome, log.lines, log.bytes), (Outcome::Failed, 6, FAILED.len() as u64));
    assert_eq!(log.sha256, "2f1b3e5b".replace("2f1b3e5b", &sha256(FAILED)));
    let cause = log.cause.expect("it failed");
    assert_eq!(cause.class, "python.RuntimeError");
    assert_eq!((cause.evidence[0].place.as_str(), cause.evidence[0].trial), ("old.log:6", None));
    assert!(cause.evidence.iter().all(|one| one.place.starts_with("old.log:")), "no exit status was seen: {:?}", cause.evidence);
    assert_eq!(log.configuration.expect("it prints one").place, "old.log:1");
    assert_eq!(log.engine.as_deref(), Some("toy"));
}

fn sha256(text: &str) -> String {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_missing_line_and_an_error_that_was_survived_show_nothing() {
    let plan = ready_plan(&["a", "b"]);
    for text in ["loading\n", "ERROR: something\nloading\n", &format!("{FAILED}went on serving\nand on\n"), "", "\u{0}\u{fffd}"] {
        let log = read(&plan, text);
        assert_eq!((log.outcome, log.cause), (Outcome::Undetermined, None), "{text:?}");
    }
}

#[test]
fn a_ready_line_completes_it_only_where_lines_are_all_that_is_asked() {
    let mut plan = ready_plan(&["a", "b"]);
    let log = read(&plan, READY);
    assert_eq!((log.outcome, log.evidence[0].place.as_str()), (Outcome::Completed, "old.log:3"));
    if let Some(ready) = &mut plan.program.ready {
        ready.notify = true;
    }
    let log = read(&plan, READY);
    assert_eq!((log.outcome, log.evidence.len()), (Outcome::Undetermined, 1), "the other condition left no line");
    // Ready, then died.
    let died = format!("{READY}{}", FAILED.split_once('\n').expect("lines").1);
    assert_eq!(read(&ready_plan(&["a", "b"]), &died).outcome, Outcome::Failed);
}

#[test]
fn it_cannot_serve_as_the_baseline_where_it_differs_and_says_in_what() {
    let plan = ready_plan(&["a", "b"]);
    let ledger = ran(&plan, read(&plan, READY), Outcome::Failed);
    let report = summary_of(&ledger);
    let old = &report.old_logs[0];
    assert!(old.text.contains("cannot serve as the baseline a/none: it differs in fraction: 0.88 \u{2192} 0.55"), "{}", old.text);
    let base = old.against.iter().find(|one| one.cell == "a/none").expect("compared");
    assert!(!base.same && base.differs.iter().any(|one| one.starts_with("fraction")), "{base:?}");
    assert!(!base.differs.iter().any(|one| one.starts_with("seed")), "what differs in every launch is no difference: {base:?}");
    assert_eq!(answer(&ledger, "factor:arm", "outcome").trials.len(), 2, "it enters no comparison");
    assert!(report.cells.iter().all(|cell| cell.trials == 1));
}

#[test]
fn a_log_of_another_engine_says_so_and_how_many_settings_differ() {
    let plan = ready_plan(&["a", "b"]);
    let mut sink = Kept::default();
    let mut ledger = create(&plan, &mut sink).expect("recorded");
    let exactly = |version: &str| VersionRange { low: Some(version.into()), high: Some(version.into()), from: Vec::new() };
    let settings: String = (0..300).map(|n| format!(", setting_{n}={n}")).collect();
    let mut log = read(&plan, &READY.replace(", seed=7", &settings));
    log.version = Some(exactly("0.5.9"));
    conduct::take_old_logs(&mut ledger, vec![log], &mut sink).expect("recorded");
    let version = exactly("1.2");
    let script = move |_: &Cell, _| {
        let configuration = Some(Evidence::log(TrialId(1), Stream::Stderr, 1, "with config: size=4, fraction=0.88"));
        let (printed_by, version) = (Some("other".to_owned()), Some(version.clone()));
        Ends::As(Box::new(TrialEnd { configuration, printed_by, version, ..TrialEnd::new(Outcome::Completed) }))
    };
    conduct::conduct(&mut ledger, &Scripted::new(script), &mut sink).expect("recorded");
    let old = &summary_of(&ledger).old_logs[0];
    let said = "It cannot serve as the baseline a/none: it is of another engine, toy 0.5.9 \u{2192} other 1.2, and 302 settings differ. It became ready";
    assert!(old.text.starts_with(said), "{}", old.text);
    for cell in &old.against {
        assert_eq!(
            (cell.engines.as_deref(), cell.same, cell.differs.len()),
            (Some("toy 0.5.9 \u{2192} other 1.2"), false, 302),
            "{cell:?}"
        );
        assert!(!cell.unknown.iter().any(|what| what.contains("version")), "versions of two engines are not compared: {cell:?}");
    }
}

#[test]
fn a_log_of_unknown_configuration_is_compared_with_nothing() {
    let mut plan = ready_plan(&["a", "b"]);
    plan.hypotheses = vec![claim()];
    let ledger = ran(&plan, read(&plan, "loading\nready to roll\n"), Outcome::Failed);
    let old = &summary_of(&ledger).old_logs[0];
    assert!(old.text.contains("cannot serve as the baseline a/none: not known is the configuration of old.log"), "{}", old.text);
    assert!(old.against.iter().all(|one| !one.same && !one.unknown.is_empty()), "{:?}", old.against);
    assert_ne!(answer(&ledger, "hypothesis:it cannot start", "outcome").verdict, Verdict::Refuted);
}

fn claim() -> Hypothesis {
    let cell = Cell { levels: IndexMap::from([("arm".to_owned(), "a".to_owned())]), instrument: "none".to_owned() };
    Hypothesis { claim: "it cannot start".into(), predicts: vec![Prediction::Outcome { cell, outcome: Outcome::Failed }] }
}

#[test]
fn where_everything_known_is_equal_it_may_refute_a_claim_and_is_no_more_than_an_anecdote() {
    let mut plan = ready_plan(&["a", "b"]);
    plan.hypotheses = vec![claim()];
    // The port and the seed differ from launch to launch.
    let text = READY.replace("0.88", "0.55").replace("30000", "40123").replace("seed=7", "seed=0");
    let ledger = ran(&plan, read(&plan, &text), Outcome::Failed);
    let refuted = answer(&ledger, "hypothesis:it cannot start", "outcome");
    assert_eq!((refuted.verdict, refuted.strength), (Verdict::Refuted, Some(Strength::Anecdotal)), "{}", refuted.text);
    assert!(
        refuted.text.contains("old.log completed") && refuted.text.contains("what was put in then, and what else differed, is not known"),
        "{}",
        refuted.text
    );
    assert!(refuted.evidence.iter().all(|one| one.trial.is_none() && one.place.starts_with("old.log:")), "{:?}", refuted.evidence);
    let old = &summary_of(&ledger).old_logs[0];
    assert!(old.against.iter().any(|one| one.cell == "a/none" && one.same));
    assert!(old.against.iter().all(|one| one.cell != "a/print" || !one.same), "whether an instrument was in, no line states");
    // With another fraction it says nothing of the claim.
    let ledger = ran(&plan, read(&plan, READY), Outcome::Failed);
    assert_ne!(answer(&ledger, "hypothesis:it cannot start", "outcome").verdict, Verdict::Refuted);
}

#[test]
fn secrets_of_its_configuration_are_hidden() {
    let mut log = read(&ready_plan(&["a", "b"]), "toy args=Args(api_key='sk-12345', admin_key=None, fraction=0.55)\n");
    printed::hide(log.configuration.as_mut().expect("it prints one"), |name| name.contains("key"), |_| "***".to_owned());
    let text = &log.configuration.as_ref().expect("it prints one").text;
    assert!(!text.contains("sk-12345") && text.contains("api_key='***'") && text.contains("admin_key=None"), "{text}");
    old_log::hide_texts(&mut log, |text| text.replace("0.55", "?"));
    assert!(log.configuration.expect("kept").text.contains("fraction=?"));
}
