//! Times of random prompts that a prefix cache had read before: no comparison of them is one, however clear the difference looks.

use bystander_lab::ledger::Ledger;
use bystander_lab::plan::{Bounds, Direction, Hypothesis, Metric, MetricSource, Plan, Prediction, Scale, Workload};
use bystander_model::cell::Cell;
use bystander_model::engine::{EngineFigure, EngineReading};
use bystander_model::event::TrialEnd;
use bystander_model::outcome::Outcome;
use bystander_model::report::Verdict;
use bystander_model::traffic::{Amount, Arrival, Endpoint, Load, Prompt, Summary};

use crate::scripted::{Ends, Scripted, answer, plan, run, summary_of};

fn load(prompt: Prompt) -> Workload {
    let load = Load {
        url: "http://127.0.0.1:{port}".into(),
        model: None,
        endpoint: Endpoint::Completions,
        arrival: Arrival::Closed { concurrency: 4 },
        amount: Amount::Requests(100),
        warmup: None,
        prompt,
        output_tokens: 16,
        ignore_eos: true,
        timeout_s: 60.0,
        errors: 0.0,
        seed: 1,
        api_key_env: None,
        body: serde_json::Map::default(),
    };
    Workload {
        command: Vec::new(),
        traffic: Some(load),
        requests: None,
        timeout: std::time::Duration::from_secs(60),
        spans: indexmap::IndexMap::new(),
    }
}

fn random() -> Prompt {
    Prompt::Random { tokens: 128, seed: None }
}

fn metric(name: &str) -> Metric {
    Metric { source: MetricSource::Traffic { name: name.into() }, scale: Scale::Ratio, margin: Some(0.05), unit: None }
}

/// A plan that measures a time, a rate and a count of traffic with such prompts, and claims something of the time.
fn measuring(prompt: Prompt) -> Plan {
    let mut plan = plan(&["a", "b"], &["probe"]);
    plan.workload = Some(load(prompt));
    for name in ["ttft_p50", "tokens_per_s", "sent"] {
        plan.metrics.insert(name.into(), metric(name));
    }
    let effect = Prediction::Effect { factor: "arm".into(), level: "b".into(), metric: "ttft_p50".into(), effect: Direction::Up };
    let value = Prediction::Value { cell: plan.cells[2].clone(), metric: "ttft_p50".into(), range: Bounds { low: Some(1.0), high: None } };
    plan.hypotheses =
        vec![Hypothesis { claim: "slower".into(), predicts: vec![effect] }, Hypothesis { claim: "slow".into(), predicts: vec![value] }];
    plan
}

/// A run in which `b` halves the time and doubles the rate, and a launch of a cell says of its cache what a rule says.
fn of(plan: &Plan, says: impl Fn(&Cell, u32) -> (Option<EngineReading>, Option<Summary>) + Send + Sync + 'static) -> Ledger {
    let script = move |cell: &Cell, before: u32| {
        let faster = if cell.levels["arm"] == "b" { 2.0 } else { 1.0 };
        let noise = 1.0 + f64::from(before % 3) / 1000.0 + if cell.is_bare() { 0.0 } else { f64::from(before % 2) / 1000.0 };
        let (engine, traffic) = says(cell, before);
        let mut end = TrialEnd { engine: engine.map(Box::new), traffic: traffic.map(Box::new), ..TrialEnd::new(Outcome::Completed) };
        end.metrics.insert("ttft_p50".into(), Some(0.2 * noise / faster));
        end.metrics.insert("tokens_per_s".into(), Some(100.0 * noise * faster));
        end.metrics.insert("sent".into(), Some(100.0 * noise));
        Ends::As(Box::new(end))
    };
    run(plan, &mut Scripted::new(script)).0
}

fn hits(share: f64) -> Option<EngineReading> {
    let figure = EngineFigure { value: Some(share), before: None, from: format!("hits / queries = {share}") };
    Some(EngineReading { figures: [("prefix_hit_rate".to_owned(), figure)].into_iter().collect(), ..EngineReading::default() })
}

fn usage(cached: u64) -> Option<Summary> {
    Some(Summary { input_tokens: Some(12_800), cached_tokens: Some(cached), ..Summary::default() })
}

#[test]
fn one_warm_launch_makes_times_and_rates_incomparable_and_nothing_else() {
    let plan = measuring(random());
    let ledger =
        of(&plan, |cell, before| (hits(if cell.levels["arm"] == "b" && cell.is_bare() && before == 2 { 0.12 } else { 0.0 }), None));
    for metric in ["ttft_p50", "tokens_per_s"] {
        let found = answer(&ledger, "factor:arm", metric);
        assert_eq!((found.verdict, found.strength, found.p, found.estimate), (Verdict::Invalid, None, None, None), "{found:?}");
        assert!(found.text.contains("12.0 % of their tokens came from the prefix cache"), "{}", found.text);
        assert!(found.evidence[0].text.contains("hits / queries = 0.12") && found.needs.is_some(), "{found:?}");
        let probe = answer(&ledger, "instrument:probe", metric);
        assert_eq!((probe.verdict, probe.strength), (Verdict::Undetermined, None), "{}", probe.text);
    }
    assert_eq!(answer(&ledger, "factor:arm", "sent").verdict, Verdict::NoEffectWithin);
    assert_ne!(answer(&ledger, "factor:arm", "outcome").verdict, Verdict::Invalid);
    for claim in ["slower", "slow"] {
        let found = answer(&ledger, &format!("hypothesis:{claim}"), "outcome");
        assert_eq!(found.verdict, Verdict::Open, "{}", found.text);
        assert!(found.text.contains("prefix cache"), "{}", found.text);
    }
    assert!(summary_of(&ledger).next.iter().any(|step| step.text.contains("a cache of its own")), "{:?}", summary_of(&ledger).next);
}

#[test]
fn what_the_answers_count_is_enough_where_the_engine_says_nothing() {
    let found = |cached: u64| {
        let ledger = of(&measuring(random()), move |_, _| (None, usage(cached)));
        answer(&ledger, "factor:arm", "ttft_p50").verdict
    };
    assert_eq!(found(129), Verdict::Invalid, "just above one in a hundred");
    assert_eq!(found(128), Verdict::Effect, "one in a hundred");
}

#[test]
fn prompts_of_a_file_and_cold_caches_are_compared() {
    let warm = |_: &Cell, _: u32| (hits(0.9), usage(9000));
    let ledger = of(&measuring(Prompt::File { path: "/prompts.jsonl".into() }), warm);
    assert_eq!(answer(&ledger, "factor:arm", "ttft_p50").verdict, Verdict::Effect, "they may share what they begin with");
    for claim in ["slower", "slow"] {
        assert_eq!(answer(&ledger, &format!("hypothesis:{claim}"), "outcome").verdict, Verdict::Refuted);
    }
    let ledger = of(&measuring(random()), |_, _| (hits(0.01), None));
    assert_eq!(answer(&ledger, "factor:arm", "tokens_per_s").verdict, Verdict::Effect);
    let ledger = of(&measuring(random()), |_, _| (Some(EngineReading::without("it was not asked")), None));
    assert_eq!(answer(&ledger, "factor:arm", "tokens_per_s").verdict, Verdict::Effect);
}
