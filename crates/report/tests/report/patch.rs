//! The text of `patch`.

use bystander_model::patch::{EditState, EditStatus, PatchReport, Problem, ProblemKind};
use bystander_report::{Style, patch_text};
use insta::assert_snapshot;

fn edit(name: &str, state: EditState) -> EditStatus {
    EditStatus {
        id: format!("{name}-1"),
        name: name.into(),
        file: "engine/sizing.py".into(),
        state,
        made: "2026-11-29T14:05:01Z".into(),
        expires: None,
        by: "1000".into(),
        journal: "/srv/.bystander".into(),
    }
}

#[test]
fn a_clean_tree_is_one_line() {
    let report = PatchReport { format: 1, edits: Vec::new(), clean: true, problems: Vec::new() };
    assert_snapshot!(patch_text(&report, &Style::default()), @r#"Clean: no edit is live, in conflict or left behind."#);
}

#[test]
fn live_edits_and_problems_are_listed() {
    let edits = vec![edit("print", EditState::Live), edit("old", EditState::Reverted), edit("stuck", EditState::Conflict)];
    let problem = Problem {
        file: "engine/sizing.py".into(),
        kind: ProblemKind::Bytes,
        text: "sha256 differs from before the edit; `bystander patch diff print` shows how".into(),
    };
    let report = PatchReport { format: 1, edits, clean: false, problems: vec![problem] };
    assert_snapshot!(patch_text(&report, &Style { width: 100, ..Style::default() }), @r#"
    NOT clean: 1 edit live, 1 in conflict, 1 problem.

    Edits
      name   state     file              made                  expires         by    id
      print  live      engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  print-1
      old    reverted  engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  old-1
      stuck  conflict  engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  stuck-1

    Problems
      engine/sizing.py (bytes differ): sha256 differs from before the edit; `bystander patch diff print`
        shows how
    "#);
}
