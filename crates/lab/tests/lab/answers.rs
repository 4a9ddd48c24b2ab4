//! What the data say: the patterns of outcomes, hypotheses. Metrics are in `metrics`.

use std::sync::atomic::{AtomicBool, Ordering};

use bystander_lab::plan::{Expect, Hypothesis, Plan, Prediction};
use bystander_model::cell::Cell;
use bystander_model::outcome::Outcome;
use bystander_model::report::{Strength, Verdict};
use indexmap::IndexMap;

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

fn is(cell: &Cell, arm: &str, instrument: &str) -> bool {
    cell.levels["arm"] == arm && cell.instrument == instrument
}

#[test]
fn with_a_broken_baseline_nothing_is_blamed_and_an_instrument_is_not_needed() {
    let plan = plan(&["nccl", "custom"], &["print", "probe"]);
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Fails("RuntimeError @ sizing")));
    let treatment = answer(&ledger, "factor:arm", "outcome");
    assert_eq!(treatment.verdict, Verdict::BaselineBroken);
    assert!(treatment.text.contains("Nothing can be blamed on arm=custom"), "{}", treatment.text);
    for instrument in ["print", "probe"] {
        let answer = answer(&ledger, &format!("instrument:{instrument}"), "outcome");
        assert_eq!((answer.verdict, answer.strength), (Verdict::NotNeeded, Some(Strength::Shown)));
        assert!(answer.text.contains("is another claim, and is not made"), "{}", answer.text);
        assert_eq!(answer.evidence.len(), 2, "one launch with it and one without");
        assert_eq!(answer.p, None, "a counterexample is no test");
    }
}

#[test]
fn a_treatment_that_breaks_is_an_effect_after_four_blocks_and_not_before() {
    let mut plan = plan(&["a", "b"], &[]);
    let script = |cell: &Cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let shown = answer(&ledger, "factor:arm", "outcome");
    assert_eq!((shown.verdict, shown.strength), (Verdict::Effect, Some(Strength::Shown)));
    assert!((shown.p.expect("tested") - 2.0 / 70.0).abs() < 1e-9);
    plan.blocks.max = 3;
    plan.blocks.min = 3;
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let open = answer(&ledger, "factor:arm", "outcome");
    assert_eq!((open.verdict, open.strength), (Verdict::Insufficient, Some(Strength::Consistent)));
    assert_eq!(open.needs.expect("says what would settle it").launches_per_cell, Some(4));
}

#[test]
fn an_instrument_that_hides_a_failure_is_told() {
    let plan = plan(&["a", "b"], &["probe"]);
    let (ledger, _) =
        run(&plan, &mut Scripted::new(|cell, _| if is(cell, "b", "none") { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }));
    let treatment = answer(&ledger, "factor:arm", "outcome");
    assert_eq!(treatment.verdict, Verdict::MaskedByInstrument, "{}", treatment.text);
    let probe = answer(&ledger, "instrument:probe", "outcome");
    assert!(!matches!(probe.verdict, Verdict::Inert | Verdict::NoEffectSeen), "it changes the outcome beside b: {}", probe.text);
}

#[test]
fn an_instrument_that_breaks_a_working_baseline_perturbs_only_when_shown() {
    let mut plan = plan(&["a"], &["probe"]);
    let script = |cell: &Cell, _| if cell.is_bare() { Ends::Completes } else { Ends::Fails("TimeoutError @ f") };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let shown = answer(&ledger, "instrument:probe", "outcome");
    assert_eq!((shown.verdict, shown.strength), (Verdict::Perturbs, Some(Strength::Shown)));
    assert!(shown.p.expect("tested") <= 0.05 / 3.0);
    plan.blocks = bystander_lab::plan::Blocks { min: 2, max: 2 };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let open = answer(&ledger, "instrument:probe", "outcome");
    assert_eq!((open.verdict, open.strength), (Verdict::Undetermined, Some(Strength::Consistent)));
}

#[test]
fn a_frame_on_an_inserted_line_blames_the_instrument_at_once() {
    let mut plan = plan(&["a"], &["print"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 1, max: 1 };
    let (ledger, _) = run(&plan, &mut Scripted::new(|cell, _| if cell.is_bare() { Ends::Completes } else { Ends::Blames("print") }));
    let print = answer(&ledger, "instrument:print", "outcome");
    assert_eq!((print.verdict, print.strength), (Verdict::Perturbs, Some(Strength::Shown)));
    assert!(print.text.contains("lies on a line that it inserted"), "{}", print.text);
}

/// A launch that completes, and of which a part raised on an added line or printed something alike.
fn completes_with(raised: Option<bool>, printed: &str) -> Ends {
    use bystander_model::event::TrialEnd;
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::outcome::RaisedByInstrument;
    let told = |cut_short| RaisedByInstrument {
        instrument: "print".into(),
        cut_short,
        signature: "AttributeError in app.py:work".into(),
        text: "AttributeError: no bits (in work, app.py:4), raised on a line that print added".into(),
        evidence: vec![Evidence::log(bystander_model::ids::TrialId(1), Stream::Stderr, 7, "AttributeError: no bits")],
    };
    let metrics = IndexMap::from([("tokens".to_owned(), Some(12.0))]);
    let raised = raised.map(told).into_iter().collect();
    let printed = if printed.is_empty() { Vec::new() } else { vec![printed.to_owned()] };
    Ends::As(Box::new(TrialEnd { raised, printed, metrics, ..TrialEnd::new(Outcome::Completed) }))
}

#[test]
fn an_edit_that_raises_on_its_own_line_is_not_inert_though_every_launch_completes() {
    let mut plan = plan(&["a"], &["print"]);
    plan.margin = Some(0.6);
    plan.blocks = bystander_lab::plan::Blocks { min: 5, max: 5 };
    let verdict = |cut_short, without: &'static str| {
        let script = move |cell: &Cell, _| if cell.is_bare() { completes_with(None, without) } else { completes_with(Some(cut_short), "") };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        let on_tokens = answer(&ledger, "instrument:print", "tokens");
        (answer(&ledger, "instrument:print", "outcome"), on_tokens)
    };
    let (breaks, tokens) = verdict(true, "");
    assert_eq!((breaks.verdict, breaks.strength), (Verdict::Perturbs, Some(Strength::Shown)), "{}", breaks.text);
    assert!(breaks.text.contains("AttributeError: no bits") && breaks.evidence[0].place == "stderr:7", "{}", breaks.text);
    assert!(!matches!(tokens.verdict, Verdict::Inert | Verdict::NoEffectSeen), "{}", tokens.text);
    let (unsure, _) = verdict(false, "");
    assert_eq!((unsure.verdict, unsure.strength), (Verdict::Undetermined, None), "{}", unsure.text);
    assert!(unsure.text.contains("AttributeError: no bits"), "{}", unsure.text);
    // What the program prints without it is not the edit's.
    let (same, tokens) = verdict(true, "AttributeError in app.py:work");
    assert_eq!((same.verdict, tokens.verdict), (Verdict::Inert, Verdict::Inert), "{}", same.text);
}

#[test]
fn no_failure_states_the_bound_and_claims_nothing_beyond_a_stated_margin() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 5, max: 5 };
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Completes));
    let probe = answer(&ledger, "instrument:probe", "outcome");
    assert_eq!(probe.verdict, Verdict::NoEffectSeen);
    assert!(probe.text.contains("up to 45 % is not excluded"), "{}", probe.text);
    assert_eq!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::Insufficient);
    plan.margin = Some(0.5);
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Completes));
    assert_eq!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::NoEffectWithin);
    assert_eq!(answer(&ledger, "instrument:probe", "outcome").verdict, Verdict::Inert);
}

#[test]
fn one_counterexample_refutes_and_support_takes_replicates() {
    let mut plan = plan(&["a", "b"], &[]);
    let cell = |arm: &str| Cell { levels: IndexMap::from([("arm".to_owned(), arm.to_owned())]), instrument: "none".to_owned() };
    plan.hypotheses = vec![Hypothesis {
        claim: "b breaks it".into(),
        predicts: vec![
            Prediction::Outcome { cell: cell("b"), outcome: Outcome::Failed },
            Prediction::Outcome { cell: cell("a"), outcome: Outcome::Completed },
        ],
    }];
    let (ledger, _) = run(&plan, &mut Scripted::new(|_, _| Ends::Fails("RuntimeError @ f")));
    let refuted = answer(&ledger, "hypothesis:b breaks it", "outcome");
    assert_eq!((refuted.verdict, refuted.strength), (Verdict::Refuted, Some(Strength::Shown)));
    let breaks = |cell: &Cell, _| if cell.levels["arm"] == "b" { Ends::Fails("RuntimeError @ f") } else { Ends::Completes };
    let (ledger, _) = run(&plan, &mut Scripted::new(breaks));
    assert_eq!(answer(&ledger, "hypothesis:b breaks it", "outcome").verdict, Verdict::Supported);
    plan.blocks = bystander_lab::plan::Blocks { min: 1, max: 1 };
    let (ledger, _) = run(&plan, &mut Scripted::new(breaks));
    let open = answer(&ledger, "hypothesis:b breaks it", "outcome");
    assert_eq!((open.verdict, open.strength), (Verdict::Open, Some(Strength::Anecdotal)));
}

#[test]
fn a_contaminated_run_answers_nothing() {
    let plan = plan(&["a", "b"], &[]);
    let (ledger, _) = run(&plan, &mut Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Voids } else { Ends::Completes }));
    let answer = answer(&ledger, "factor:arm", "outcome");
    assert_eq!((answer.verdict, answer.strength, answer.p), (Verdict::Invalid, None, None));
    assert!(answer.text.contains("port_in_use"), "{}", answer.text);
}

/// What the sixteen patterns of a two-by-two mean, by the published table: baseline and treatment, each without and with the instrument.
#[test]
fn the_sixteen_patterns_read_as_the_table_says() {
    let table: serde_json::Value = serde_json::from_str(include_str!("../fixtures/stats_vectors.json")).expect("the table is JSON");
    for row in table["readiness_pattern_verdicts"].as_array().expect("sixteen rows") {
        let ready = |key: &str| row[key].as_bool().expect("ready or not");
        let pattern = [ready("B0"), ready("B1"), ready("T0"), ready("T1")];
        let mut plan = plan(&["a", "b"], &["probe"]);
        plan.blocks = bystander_lab::plan::Blocks { min: 6, max: 6 };
        let script = move |cell: &Cell, _| {
            let at = usize::from(cell.levels["arm"] == "b") * 2 + usize::from(cell.instrument == "probe");
            if pattern[at] { Ends::Completes } else { Ends::Fails("RuntimeError @ f") }
        };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        let (treatment, probe) = (answer(&ledger, "factor:arm", "outcome"), answer(&ledger, "instrument:probe", "outcome"));
        let says = row["verdict"].as_str().expect("words");
        let seen = format!("{pattern:?}: {says}\n{:?} {}\n{:?} {}", treatment.verdict, treatment.text, probe.verdict, probe.text);
        match pattern {
            [true, _, false, probed] => {
                assert!(says.contains("treatment BREAKS"), "{seen}");
                let hidden = probed && says.contains("MASKING");
                assert_eq!(treatment.verdict, if hidden { Verdict::MaskedByInstrument } else { Verdict::Effect }, "{seen}");
            }
            [true, _, true, _] => assert!(says.contains("treatment ok") && treatment.verdict == Verdict::Insufficient, "{seen}"),
            [false, _, true, _] => assert!(says.contains("treatment FIXES") && treatment.verdict == Verdict::Effect, "{seen}"),
            [false, _, false, _] => assert!(says.contains("BASELINE_BROKEN") && treatment.verdict == Verdict::BaselineBroken, "{seen}"),
        }
        // An instrument changes the outcome where it is put in on the baseline or beside the treatment.
        let changes = pattern[0] != pattern[1] || pattern[2] != pattern[3];
        assert_eq!(probe.verdict == Verdict::Perturbs, changes, "{seen}");
        if pattern == [false; 4] {
            assert_eq!(probe.verdict, Verdict::NotNeeded, "{seen}");
        }
    }
}

#[test]
fn a_difference_that_was_shown_stays_shown_in_blocks_that_others_needed() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 8, max: 8 };
    // b fails in the first four blocks and not after: shown at the look after block 4.
    let (ledger, _) = run(
        &plan,
        &mut Scripted::new(|cell, n| if is(cell, "b", "none") && n < 4 { Ends::Fails("RuntimeError @ f") } else { Ends::Completes }),
    );
    let treatment = answer(&ledger, "factor:arm", "outcome");
    assert!(matches!(treatment.verdict, Verdict::Effect | Verdict::MaskedByInstrument), "{}", treatment.text);
    assert!((treatment.p.expect("tested") - 2.0 / 70.0).abs() < 1e-9 && treatment.text.contains("after 4 blocks"), "{}", treatment.text);
}

#[test]
fn nothing_is_shown_by_blocks_after_the_last_look() {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.blocks = bystander_lab::plan::Blocks { min: 12, max: 12 };
    // Five of twelve against none has p = 0.037, but the last look at level 0.05 is after block 10, where it is four of ten.
    let fails = |n: u32| [2, 4, 6, 8, 10].contains(&n);
    let (ledger, _) = run(
        &plan,
        &mut Scripted::new(
            move |cell, n| if is(cell, "b", "none") && fails(n) { Ends::Fails("RuntimeError @ f") } else { Ends::Completes },
        ),
    );
    let treatment = answer(&ledger, "factor:arm", "outcome");
    assert_eq!(treatment.verdict, Verdict::Insufficient, "{}", treatment.text);
}

#[test]
fn a_failure_that_an_edit_left_behind_acquits_nobody_and_refutes_nothing() {
    for (expect, seeds) in [(Expect::Completed, 1..2), (Expect::Any, 1..13)] {
        for seed in seeds {
            let mut plan = Plan { expect, seed: Some(seed), ..plan(&["a"], &["print"]) };
            let cell = |instrument: &str| Cell { instrument: instrument.to_owned(), ..plan.baseline.clone() };
            let predicts = |instrument: &str, outcome| Prediction::Outcome { cell: cell(instrument), outcome };
            plan.hypotheses = vec![Hypothesis {
                claim: "the print broke it".into(),
                predicts: vec![predicts("print", Outcome::Failed), predicts("none", Outcome::Completed)],
            }];
            // The edited program leaves something that makes every later launch fail, the bare ones too.
            let left = AtomicBool::new(false);
            let script = move |cell: &Cell, _: u32| {
                left.fetch_or(!cell.is_bare(), Ordering::SeqCst);
                if left.load(Ordering::SeqCst) { Ends::Fails("exit code 9") } else { Ends::Completes }
            };
            let (ledger, _) = run(&plan, &mut Scripted::new(script));
            let print = answer(&ledger, "instrument:print", "outcome");
            assert_eq!(print.verdict, Verdict::Undetermined, "seed {seed}: {}", print.text);
            let claim = answer(&ledger, "hypothesis:the print broke it", "outcome");
            assert_eq!(claim.verdict, Verdict::Open, "seed {seed}: {}", claim.text);
            assert!(claim.text.starts_with("Contaminated: "), "{}", claim.text);
            let report = crate::scripted::summary_of(&ledger);
            assert_eq!(report.restored.clean_trial, None);
            assert!(report.restored.not_shown.is_some_and(|why| why.contains("before the first edit")));
            assert!(report.notes.iter().any(|note| note.starts_with("carried over")), "{:?}", report.notes);
        }
    }
}

#[test]
fn one_block_has_no_look_and_speaks_of_none() {
    let mut plan = plan(&["a", "b"], &[]);
    plan.blocks = bystander_lab::plan::Blocks { min: 1, max: 1 };
    plan.describe = true;
    let predicts = |cell: &Cell, outcome| bystander_lab::plan::Prediction::Outcome { cell: cell.clone(), outcome };
    plan.hypotheses = vec![bystander_lab::plan::Hypothesis {
        claim: "b breaks it".into(),
        predicts: vec![predicts(&plan.cells[0], Outcome::Completed), predicts(&plan.cells[1], Outcome::Failed)],
    }];
    let (ledger, _) = run(&plan, &mut Scripted::new(|cell, _| if cell.levels["arm"] == "b" { Ends::Fails("x") } else { Ends::Completes }));
    let found = answer(&ledger, "factor:arm", "outcome");
    assert_eq!((found.verdict, found.p), (Verdict::Insufficient, None), "{found:?}");
    assert!(found.text.contains("too few blocks for a test"), "{}", found.text);
    let said = format!("{:?} {:?} {:?}", found.rule, found.numbers, found.evidence);
    assert!(!said.contains("from 2 to 1") && !said.contains("at the look"), "{said}");
    let claim = answer(&ledger, "hypothesis:b breaks it", "outcome");
    assert!(claim.text.contains("too little for a test") && !claim.text.contains("p = "), "{}", claim.text);
    assert_eq!(summary_of(&ledger).why.as_deref(), Some("the one planned block was run"));
}

#[test]
fn a_look_has_its_own_counts_where_launches_were_made_after_it() {
    // The level is shown after four blocks; the probe, which never differs, wants more.
    let plan = plan(&["a", "b"], &["probe"]);
    let script = |cell: &Cell, before: u32| {
        let fails = cell.levels["arm"] == "b" && cell.is_bare() && before < 4;
        let probe = !cell.is_bare() && before.is_multiple_of(2);
        if fails || probe { Ends::Fails("x") } else { Ends::Completes }
    };
    let (ledger, _) = run(&plan, &mut Scripted::new(script));
    let found = answer(&ledger, "factor:arm", "outcome");
    assert!(
        found.text.contains("a difference is shown at the look after 4 blocks, where 4 of 4 fail against 0 of 4 (p = 0.029"),
        "{}",
        found.text
    );
    assert!(found.interval_of.is_some_and(|what| what.contains("over all launches, 95 %")));
}

/// A level that works nearly always where the baseline never does mends it, whatever is left of failures; one that works now and then leaves it open.
#[test]
fn a_level_that_mends_most_of_a_broken_baseline_is_said_to() {
    let with = |failing: fn(u32) -> bool| {
        let plan = Plan { stop: bystander_lab::plan::Stop::All, ..plan(&["broken", "rare"], &[]) };
        let script = move |cell: &Cell, before: u32| match cell.levels["arm"].as_str() {
            "broken" => Ends::Fails("RuntimeError @ f"),
            _ if failing(before) => Ends::Fails("TimeoutError @ g"),
            _ => Ends::Completes,
        };
        let (ledger, _) = run(&plan, &mut Scripted::new(script));
        answer(&ledger, "factor:arm", "outcome")
    };
    let mends = with(|launch| launch == 0);
    assert_eq!((mends.verdict, mends.strength), (Verdict::Effect, Some(Strength::Shown)), "{}", mends.text);
    assert!(mends.text.contains("makes a failing baseline work more often"), "{}", mends.text);
    let open = with(|launch| launch % 3 != 2);
    assert_eq!(open.verdict, Verdict::Insufficient, "{}", open.text);
    assert!(open.text.contains("The baseline fails and arm=rare does not always"), "{}", open.text);
    assert!(open.needs.expect("more launches").launches_per_cell.is_some_and(|n| n > 4));
    assert_eq!(with(|_| true).verdict, Verdict::BaselineBroken);
}
