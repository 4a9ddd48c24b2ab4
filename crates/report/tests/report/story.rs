//! A report like the story's: everything fails in the same way, whatever is varied and whatever is put in.

use std::path::PathBuf;

use bystander_model::budget::{Alternative, BudgetReport, Figure, VersionRange};
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hit::{Hit, Receipt, ReceiptState};
use bystander_model::ids::TrialId;
use bystander_model::outcome::{Cause, CauseGroup, Outcome};
use bystander_model::provenance::{Git, Provenance, PythonInfo};
use bystander_model::report::{
    Answer, BudgetFinding, Capture, CauseCount, Means, Needs, Report, RestoredFile, Strength, TrialReport, Verdict,
};
use bystander_model::value::Value;
use indexmap::IndexMap;

use crate::fixture::{cell, empty, log, step, trial};

const CLASS: &str = "memory.fraction_below_weights";
const SIGNATURE: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.";
const ERROR: &str = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.55";
const CELLS: [(&str, &str); 6] =
    [("nccl", "none"), ("nccl", "print"), ("nccl", "kv-budget"), ("custom", "none"), ("custom", "print"), ("custom", "kv-budget")];
/// The order of launch; the number of a trial is its place here.
const ORDER: [usize; 6] = [4, 0, 2, 5, 1, 3];

pub(crate) fn report() -> Report {
    let mut report = empty();
    report.question = Some("Does the custom all-reduce make the server run out of memory?".to_owned());
    report.status = "finished".to_owned();
    report.why = Some("every cell of the first block failed with one signature: more launches cannot answer the question".to_owned());
    report.plan.blocks_done = 1;
    report.plan.power = vec![
        "allreduce=custom: an outcome that always differs is shown after 4 blocks (Fisher, level 0.0500, looked at after every block)"
            .to_owned(),
    ];
    report.cells = CELLS.iter().map(|(level, instrument)| failed_cell(level, instrument)).collect();
    report.answers = answers();
    report.budgets = vec![budget()];
    report.captures = captures();
    report.trials = trials();
    restore(&mut report);
    report.next = vec![
        step("factor:allreduce", Means::Edit, Some(24), "a baseline that starts: mend its own failure first, then run the 6 cells again"),
        step("", Means::Edit, Some(54), "`stop = \"all\"` in [plan] runs every block all the same"),
    ];
    report
}

fn failed_cell(level: &str, instrument: &str) -> bystander_model::report::CellReport {
    let cause = CauseCount { class: CLASS.into(), signature: SIGNATURE.into(), text: ERROR.into(), count: 1 };
    let mut cell = cell(level, instrument);
    (cell.trials, cell.failed, cell.causes) = (1, 1, vec![cause]);
    cell
}

fn cause(trial: u32) -> Cause {
    let evidence = vec![log(trial, 41, ERROR)];
    Cause {
        class: CLASS.into(),
        group: CauseGroup::Target,
        signature: SIGNATURE.into(),
        text: ERROR.into(),
        blames: None,
        is_echo: false,
        evidence,
    }
}

fn trials() -> Vec<TrialReport> {
    let mut trials: Vec<TrialReport> = (1..).zip(ORDER).map(|(id, cell)| failed_trial(id, 1, CELLS[cell])).collect();
    let mut clean = failed_trial(7, 0, CELLS[0]);
    clean.purpose = "clean".to_owned();
    trials.push(clean);
    trials
}

fn failed_trial(id: u32, block: u32, (level, instrument): (&str, &str)) -> TrialReport {
    let mut trial = trial(id, block, level, instrument);
    trial.outcome = Some(Outcome::Failed);
    trial.cause = Some(CLASS.to_owned());
    trial.cause_detail = Some(cause(id));
    trial.evidence =
        vec![Evidence { trial: Some(TrialId(id)), kind: EvidenceKind::Exit, place: "exit".into(), text: "exit status 1".into() }];
    trial.wall_s = Some(1.4);
    trial.configuration = Some(log(id, 2, "server_args=ServerArgs(mem_fraction_static=0.55)"));
    trial.provenance = Some(Provenance {
        command: ["python3", "-m", "engine", "--port", "30001"].map(String::from).to_vec(),
        cwd: "/srv/engine".into(),
        env: IndexMap::from([("PYTHONUNBUFFERED".to_owned(), "1".to_owned())]),
        git: Some(Git { commit: "9f3c2a".into(), dirty: true }),
        files: IndexMap::from([("/srv/engine/sizing.py".into(), "77aa".into())]),
        python: Some(PythonInfo {
            executable: "/usr/bin/python3".into(),
            version: "3.11.7".into(),
            packages: IndexMap::from([("torch".to_owned(), "2.9.0".to_owned())]),
        }),
        kernel: "6.1.0".into(),
        ..Provenance::default()
    });
    if instrument == "kv-budget" {
        trial.receipts = (0..8).map(receipt).collect();
    }
    trial
}

fn receipt(rank: u32) -> Receipt {
    Receipt {
        pid: 812 + rank,
        rank: Some(rank),
        probe: "kv-budget".into(),
        state: ReceiptState::Armed,
        hits: Some(1),
        dropped: Some(0),
        detail: Some("after line 42".into()),
        python: Some("3.11.7".into()),
        passes: None,
        throttled: None,
        recorder: None,
        cost_ns: None,
        adds_switch_point: false,
    }
}

fn answers() -> Vec<Answer> {
    let mend = "a baseline that starts: mend its own failure first, then run the 6 cells again";
    let needs = Needs { launches_per_cell: Some(4), ..Needs::of([(Means::Edit, mend.to_owned())]) };
    let treatment = Answer {
        needs: Some(needs),
        ..answer(
            "factor:allreduce",
            Verdict::BaselineBroken,
            "Nothing can be blamed on custom: the baseline fails without it (nccl/none failed in 1 of 1); custom/none fails in the same way. \
             Whether custom would break a baseline that works is not known.",
            &[2, 6],
        )
    };
    vec![
        treatment,
        not_needed("print", 5),
        not_needed("kv-budget", 3),
        answer(
            "hypothesis:the print broke the baseline",
            Verdict::Refuted,
            "Refuted by trial 2: it predicts that nccl/none is completed, and trial 2 failed. One counterexample is enough.",
            &[2],
        ),
    ]
}

fn not_needed(name: &str, with: u32) -> Answer {
    let text = format!(
        "{name} is not needed for this failure: nccl/none fails in trial 2 as nccl/{name} does in trial {with}, with the same signature. \
         That {name} has no effect at all is another claim, and is not made."
    );
    answer(&format!("instrument:{name}"), Verdict::NotNeeded, &text, &[2, with])
}

fn answer(about: &str, verdict: Verdict, text: &str, trials: &[u32]) -> Answer {
    Answer {
        strength: Some(Strength::Shown),
        text: text.to_owned(),
        trials: trials.iter().copied().map(TrialId).collect(),
        evidence: trials.iter().map(|trial| log(*trial, 41, ERROR)).collect(),
        ..Answer::new(about.to_owned(), "outcome", verdict)
    }
}

fn budget() -> BudgetFinding {
    let hit = Evidence {
        trial: Some(TrialId(3)),
        kind: EvidenceKind::Hit,
        place: "kv-budget/pid 812/0".into(),
        text: "available_gpu_memory = 21.697, total_gpu_memory = 93.999".into(),
    };
    let alternative = |fraction: f64, rest: f64, tokens: f64, headroom: f64| Alternative {
        fraction,
        rest_gib: Figure::exact(rest),
        tokens: Some(Figure::exact(tokens)),
        headroom_gib: Figure::exact(headroom),
    };
    let budget = BudgetReport {
        engine: "sglang".into(),
        version: VersionRange {
            low: Some("0.5.7".into()),
            high: Some("0.5.9".into()),
            from: vec!["stderr:3 names its arguments so".into()],
        },
        rank: Some(0),
        total_gib: Figure::exact(93.999),
        available_gib: Figure::exact(21.697),
        fraction: 0.55,
        rest_gib: Figure::exact(-20.602_55),
        cell_bytes: Some(70_272),
        tokens: Some(Figure::exact(-314_803.0)),
        equation: "rest = 21.697 - 93.999 * (1 - 0.55) = -20.603 GiB".into(),
        break_even: Figure::exact(0.769_178_4),
        alternatives: vec![alternative(0.8, 2.897, 44_268.0, 18.8), alternative(0.88, 10.417, 159_171.9, 11.28)],
        text: vec![
            "The static fraction covers weights and KV cache together.".into(),
            "The weights take 72.302 of 93.999 GiB, so a fraction of 0.55 leaves less than nothing for the KV cache.".into(),
            "What is left over is for everything else.".into(),
        ],
        evidence: vec![hit],
        not_modelled: vec!["graph capture, which comes after this check".into()],
        of_little_use: None,
    };
    let cells = CELLS.iter().map(|(level, instrument)| format!("{level}/{instrument}")).collect();
    BudgetFinding { trials: (1..=7).map(TrialId).collect(), cells, budget }
}

fn captures() -> Vec<Capture> {
    let of = |cell: &str, trial: u32| -> Vec<Capture> {
        (0..8)
            .map(|rank| Capture { cell: cell.to_owned(), trial: TrialId(trial), hit: hit(rank), hits: 1, unsafe_capture: false })
            .collect()
    };
    let mut captures = of("nccl/kv-budget", 3);
    captures.extend(of("custom/kv-budget", 4));
    captures
}

pub(crate) fn hit(rank: u32) -> Hit {
    let values = [
        ("available_gpu_memory", Value::Float(21.697)),
        ("total_gpu_memory", Value::Float(93.999)),
        ("self.mem_fraction_static", Value::Float(0.55)),
        ("rest_memory", Value::Float(-20.602_549_999_999_995)),
    ];
    Hit {
        probe: "kv-budget".into(),
        pid: 812 + rank,
        tid: u64::from(812 + rank),
        rank: Some(rank),
        seq: 0,
        time_ns: 1_795_000_000_000_000_000,
        file: "engine/sizing.py".into(),
        line: 42,
        function: "profile_max_num_token".into(),
        values: values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

fn restore(report: &mut Report) {
    let hash = "3f2a91c07d5be4418f0c2a6d9b7e5f1340c8a2d6e9f1b3c5d7e9f0a1b2c3d4e5";
    report.restored.files = 1;
    report.restored.exact = Some(true);
    report.restored.clean_trial = Some(TrialId(7));
    report.restored.proofs = vec![RestoredFile {
        file: PathBuf::from("/srv/examples/engine/engine/sizing.py"),
        before_sha256: hash.into(),
        after_sha256: Some(hash.into()),
        metadata_same: true,
        edits: 2,
    }];
    report.restored.made = report.restored.proofs.iter().map(|proof| proof.edits).sum();
    report.restored.undone = report.restored.made;
}
