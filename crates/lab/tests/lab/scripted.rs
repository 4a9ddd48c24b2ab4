//! A place whose trials end as a script says, a sink that keeps events and can fail, and plans to run on them.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::place::{Checkup, Emit, LabError, Place, Sink, TrialOrder};
use bystander_lab::plan::{Blocks, Expect, Level, Metric, MetricSource, Pick, Plan, Program, Refused, Scale, Stop, Template};
use bystander_model::cell::Cell;
use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::event::{Event, EventBody, FileProof, RunEnd, TrialEnd};
use bystander_model::evidence::{Evidence, Stream};
use bystander_model::ids::RunId;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_model::report::{Answer, Report};
use indexmap::IndexMap;

/// How one trial ends.
#[derive(Debug, Clone)]
pub(crate) enum Ends {
    Completes,
    Fails(&'static str),
    Hangs(&'static str),
    Blames(&'static str),
    Voids,
    /// It is launched, and then void.
    VoidsLaunched,
    /// Bystander itself fails in the trial, as when its keeper is killed.
    Loses,
    /// The place cannot go on.
    Breaks,
    Measures(f64),
    /// It ends just so.
    As(Box<TrialEnd>),
}

/// Decides how a trial ends, from its cell and how often that cell was launched before.
pub(crate) type Script = Box<dyn Fn(&Cell, u32) -> Ends + Send + Sync>;

pub(crate) struct Scripted {
    pub(crate) script: Script,
    /// What was launched, by cell.
    launches: Mutex<Launches>,
    pub(crate) interrupt_after: Option<usize>,
}

#[derive(Default)]
struct Launches {
    all: Vec<String>,
    counts: BTreeMap<String, u32>,
}

impl Scripted {
    pub(crate) fn new(script: impl Fn(&Cell, u32) -> Ends + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), launches: Mutex::default(), interrupt_after: None }
    }

    /// Every launch so far, by its cell.
    pub(crate) fn launched(&self) -> Vec<String> {
        self.launches.lock().expect("no panic").all.clone()
    }
}

impl Place for Scripted {
    fn check(&mut self, _plan: &Plan) -> Checkup {
        Checkup::default()
    }

    fn sweep(&mut self) -> Result<Vec<RevertedEdit>, Box<dyn Error + Send + Sync>> {
        Ok(Vec::new())
    }

    fn run(&self, plan: &Plan, order: &TrialOrder, emit: &mut Emit<'_>) -> Result<TrialEnd, Box<dyn Error + Send + Sync>> {
        let cell = &order.slot.cell;
        let edited = plan.edits_of(cell).next().is_some();
        let id = order.trial.to_string();
        if edited {
            emit(EventBody::Edited(AppliedEdit {
                id: id.clone(),
                name: "print".into(),
                file: "f.py".into(),
                before_sha256: "a".into(),
                after_sha256: "b".into(),
                added_lines: 3..4,
            }))?;
        }
        let before = {
            let mut launches = self.launches.lock().expect("no panic");
            launches.all.push(cell.to_string());
            let count = launches.counts.entry(cell.to_string()).or_default();
            *count += 1;
            *count - 1
        };
        let ends = (self.script)(cell, before);
        if edited {
            emit(EventBody::Undone(RevertedEdit {
                id,
                name: "print".into(),
                file: "f.py".into(),
                exact: true,
                sha256: Some("a".into()),
                how: "restored".into(),
                bytecode_removed: Vec::new(),
            }))?;
        }
        if matches!(ends, Ends::VoidsLaunched) {
            emit(EventBody::Launched { provenance: Box::default(), pid: 7 })?;
        }
        if matches!(ends, Ends::Breaks) {
            return Err("the disk is full".into());
        }
        if let Ends::As(end) = ends {
            return Ok(*end);
        }
        Ok(end(order, &ends))
    }

    fn compare(&self, files: &[FileProof]) -> Vec<FileProof> {
        files.to_vec()
    }

    fn interrupted(&self) -> bool {
        self.interrupt_after.is_some_and(|after| self.launched().len() >= after)
    }
}

fn end(order: &TrialOrder, ends: &Ends) -> TrialEnd {
    let (outcome, signature, blames) = match ends {
        Ends::Completes | Ends::Measures(_) | Ends::As(_) => (Outcome::Completed, None, None),
        Ends::Fails(signature) => (Outcome::Failed, Some(*signature), None),
        Ends::Hangs(signature) => (Outcome::TimedOut, Some(*signature), None),
        Ends::Blames(instrument) => (Outcome::Failed, Some("NameError @ f"), Some((*instrument).to_owned())),
        Ends::Voids | Ends::VoidsLaunched => (Outcome::Void, Some("port_in_use"), None),
        Ends::Loses | Ends::Breaks => (Outcome::Undetermined, Some("harness"), None),
    };
    let evidence = vec![Evidence::log(order.trial, Stream::Stderr, 7, "a line")];
    let cause = signature.map(|signature| Cause {
        class: if outcome == Outcome::Undetermined { signature.into() } else { "python.RuntimeError".into() },
        group: CauseGroup::Target,
        signature: signature.into(),
        text: signature.into(),
        blames,
        is_echo: false,
        evidence: evidence.clone(),
    });
    let value = if let Ends::Measures(value) = ends { Some(*value) } else { None };
    TrialEnd {
        cause,
        evidence,
        exit: Some(0),
        ready_s: Some(1.0),
        wall_s: 2.0,
        metrics: IndexMap::from([("tokens".to_owned(), value)]),
        ..TrialEnd::new(outcome)
    }
}

/// Keeps events; refuses the one numbered `refuse_at`.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) events: Vec<Event>,
    pub(crate) refuse_at: Option<usize>,
}

impl Sink for Kept {
    fn append(&mut self, event: &Event) -> Result<(), LabError> {
        if self.refuse_at == Some(self.events.len()) {
            return Err(LabError::Record("the disk is full".into()));
        }
        self.events.push(event.clone());
        Ok(())
    }
}

/// A plan with one factor of the given levels and the given instruments; `print` among them is an edit.
pub(crate) fn plan(levels: &[&str], instruments: &[&str]) -> Plan {
    let factor: IndexMap<String, Level> = levels.iter().map(|level| ((*level).to_owned(), Level::default())).collect();
    let all: Vec<Cell> = levels
        .iter()
        .flat_map(|level| {
            std::iter::once(&"none").chain(instruments).map(|instrument| Cell {
                levels: IndexMap::from([("arm".to_owned(), (*level).to_owned())]),
                instrument: (*instrument).to_owned(),
            })
        })
        .collect();
    let edit = bystander_lab::plan::Edit {
        name: "print".into(),
        file: "/f.py".into(),
        find: "x".into(),
        action: bystander_lab::plan::EditAction::InsertAfter("y".into()),
        sha256: None,
        allow_undefined: Vec::new(),
        delivery: bystander_model::probe::Delivery::Auto,
        spans: IndexMap::new(),
    };
    Plan {
        file: "/experiment.toml".into(),
        question: Some("Does it?".into()),
        program: Program {
            command: vec![Template("true".into())],
            cwd: "/".into(),
            env: IndexMap::new(),
            ready: None,
            timeout: std::time::Duration::from_secs(60),
            python: None,
            stall: std::time::Duration::from_secs(60),
            grace: std::time::Duration::from_secs(10),
            fresh: bystander_lab::plan::Fresh::default(),
            spans: IndexMap::new(),
        },
        workload: None,
        factors: if levels.len() > 1 { IndexMap::from([("arm".to_owned(), factor)]) } else { IndexMap::new() },
        probes: Vec::new(),
        edits: if instruments.contains(&"print") { vec![edit] } else { Vec::new() },
        metrics: IndexMap::from([(
            "tokens".to_owned(),
            Metric {
                source: MetricSource::Log { pattern: "t=([0-9]+)".into(), pick: Pick::Only },
                scale: Scale::Difference,
                margin: Some(100.0),
                unit: Some("tokens".into()),
            },
        )]),
        baseline: all[0].clone(),
        cells: all,
        instruments: std::iter::once(("none".to_owned(), Vec::new()))
            .chain(instruments.iter().map(|name| ((*name).to_owned(), vec![(*name).to_owned()])))
            .collect(),
        blocks: Blocks { min: 4, max: 10 },
        seed: Some(7),
        expect: Expect::Any,
        primary: "outcome".into(),
        margin: None,
        describe: false,
        stop: Stop::Same,
        refused: Refused::Stop,
        hypotheses: Vec::new(),
        rule: bystander_lab::plan::Rule::default(),
        evidence: Vec::new(),
        conditions: bystander_lab::plan::Conditions::default(),
        kind: bystander_lab::plan::Kind::Blocks,
        declared: false,
        lanes: Vec::new(),
        padding: false,
        hooks: bystander_lab::plan::Hooks::default(),
        left_out: IndexMap::new(),
    }
}

/// Runs a plan on a place from the start to its end.
pub(crate) fn run(plan: &Plan, place: &mut Scripted) -> (Ledger, RunEnd) {
    let mut sink = Kept::default();
    let mut ledger = create(plan, &mut sink).expect("the sink takes everything");
    let end = conduct::conduct(&mut ledger, place, &mut sink).expect("the sink takes everything");
    let replayed = Ledger::replay(&ledger.run, sink.events).expect("the record is whole");
    assert_eq!(summary_of(&replayed), summary_of(&ledger), "the record alone gives the same report");
    (ledger, end)
}

pub(crate) fn create(plan: &Plan, sink: &mut Kept) -> Result<Ledger, LabError> {
    conduct::create(&RunId("r".into()), plan, plan.seed.unwrap_or(1), "test", &Checkup::default(), sink)
}

pub(crate) fn summary_of(ledger: &Ledger) -> Report {
    bystander_lab::summary::report(ledger)
}

/// The answer about something, on a metric.
pub(crate) fn answer(ledger: &Ledger, about: &str, metric: &str) -> Answer {
    let report = summary_of(ledger);
    report
        .answers
        .into_iter()
        .find(|answer| answer.about == about && answer.metric == metric)
        .unwrap_or_else(|| panic!("no answer about {about} on {metric}"))
}
