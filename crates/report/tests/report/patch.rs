//! The text of `patch`.

use bystander_model::patch::{
    ApplyReport, DiffReport, EditDiff, EditState, EditStatus, HostEdits, PatchApplied, PatchNote, PatchReport, Problem, ProblemKind,
    UnseenUser,
};
use bystander_report::{Style, apply_text, diff_text, host_text, live_elsewhere, patch_text, revert_text};
use insta::assert_snapshot;

/// What verbs are typed after.
const COMMAND: &str = "bystander patch";

fn edit(name: &str, state: EditState) -> EditStatus {
    EditStatus {
        id: format!("{name}-1"),
        name: name.into(),
        file: "engine/sizing.py".into(),
        state,
        made: "2026-11-29T14:05:01Z".into(),
        expires: None,
        kept: false,
        folder: None,
        by: "1000".into(),
        journal: "/srv/.bystander".into(),
    }
}

#[test]
fn a_clean_tree_is_one_line() {
    let report = PatchReport { format: 1, clean: true, ..PatchReport::default() };
    assert_snapshot!(patch_text(&report, &Style::default(), COMMAND), @r#"Clean: no edit is live, in conflict or left behind."#);
}

#[test]
fn live_edits_and_problems_are_listed() {
    let edits = vec![edit("print", EditState::Live), edit("old", EditState::Reverted), edit("stuck", EditState::Conflict)];
    let problem = Problem {
        file: "engine/sizing.py".into(),
        kind: ProblemKind::Bytes,
        text: "sha256 differs from before the edit; `bystander patch diff print` shows how".into(),
    };
    let report = PatchReport { format: 1, edits, problems: vec![problem], ..PatchReport::default() };
    assert_snapshot!(patch_text(&report, &Style { width: 100, ..Style::default() }, COMMAND), @r#"
    NOT clean: 1 edit live, 1 in conflict, 1 problem.

    Edits
      name   state     file              made                  expires         by    id
      print  live      engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  print-1
      old    reverted  engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  old-1
      stuck  conflict  engine/sizing.py  2026-11-29T14:05:01Z  with its trial  1000  stuck-1

    Problems
      engine/sizing.py (bytes differ): sha256 differs from before the edit; `bystander patch diff print`
        shows how

    next: `bystander patch diff` shows what is live, `bystander patch revert print-1` takes it back
    "#);
}

#[test]
fn what_was_searched_and_who_was_not_seen_is_said() {
    let notes =
        vec![PatchNote { file: Some("engine/sizing.py".into()), text: "edit `old` was taken out of a file that others changed".into() }];
    let unseen = vec![UnseenUser { user: "ann".into(), home: "/home/ann".into(), why: "permission denied".into() }];
    let edits = (0..12).map(|number| edit(&format!("old{number}"), EditState::Reverted)).collect();
    let report = PatchReport { format: 1, clean: true, edits, notes, unseen, searched_files: Some(100_000), ..PatchReport::default() };
    let text = patch_text(&report, &Style { width: 120, ..Style::default() }, COMMAND);
    assert!(text.starts_with("Clean: no edit is live, in conflict or left behind. 100,000 files searched.\n"), "{text}");
    assert!(text.contains("  4 older ones, undone: --json lists them\n") && !text.contains("old3 ") && text.contains("old4 "), "{text}");
    assert!(text.contains("  ann: /home/ann: permission denied; whether this user has live edits is not known\n"), "{text}");
}

#[test]
fn an_apply_says_where_what_moved_and_how_to_take_it_back() {
    let applied = |id: &str, lines, moved_lines, marked| PatchApplied {
        id: id.into(),
        name: "patch".into(),
        file: "/srv/app.py".into(),
        lines,
        moved_lines,
        marked,
        diff: "--- a/srv/app.py\n+++ b/srv/app.py\n@@ -1 +1 @@\n-x\u{1b}[2J\n+y\n".into(),
    };
    let edits = vec![applied("0123456789ab", 2..3, 0, true), applied("ba9876543210", 7..9, 2, false)];
    let report = ApplyReport { format: 1, made: true, edits, expires: Some("2026-11-29T21:18:56.717690764Z".into()) };
    let style = Style { width: 120, ..Style::default() };
    assert_snapshot!(apply_text(&report, &style, COMMAND), @r#"
    Made: 2 edits in 1 file, read back and proven.
      patch (0123456789ab): /srv/app.py, line 2; line numbers hold
      patch (ba9876543210): /srv/app.py, lines 7 to 8; what is behind moved down by 2 lines; without a mark, as its language
        is not known or has no room for a comment there: `patch verify` knows it by its text
    take back: bystander patch revert 0123456789ab ba9876543210; by itself at 2026-11-29T21:18:56Z
    "#);
    let dry = apply_text(&ApplyReport { made: false, ..report }, &style, COMMAND);
    assert!(dry.starts_with("Would be made: 2 edits in 1 file; nothing was written.\n") && dry.contains("\n-x\u{fffd}[2J\n+y\n"), "{dry}");
}

#[test]
fn live_edits_are_shown_as_diffs() {
    let none = DiffReport { format: 1, edits: Vec::new(), hosts: Vec::new() };
    assert_eq!(diff_text(&none, &Style::default()), "No edit is live.\n");
    let diff =
        EditDiff { id: "0123456789ab".into(), name: "patch".into(), file: "/srv/a".into(), changed: true, text: "@@ -1 +1 @@\n".into() };
    let text = diff_text(&DiffReport { edits: vec![diff], ..none }, &Style::default());
    assert_eq!(text, "# edit patch (0123456789ab), the file has changed since\n@@ -1 +1 @@\n");
}

/// A machine as it was seen at a time, or was not.
fn host(edits: Vec<EditStatus>, asked: bool, as_of: Option<&str>, unreachable: Option<&str>) -> HostEdits {
    let clean = edits.iter().all(|edit| edit.state == EditState::Reverted);
    HostEdits {
        address: "ssh://gpu1".into(),
        also: vec!["ssh://10.0.0.1".into()],
        command: "bystander --on ssh://gpu1 patch".into(),
        asked,
        as_of: as_of.map(str::to_owned),
        unreachable: unreachable.map(str::to_owned),
        report: Box::new(PatchReport { clean, edits, ..PatchReport::default() }),
    }
}

#[test]
fn another_machine_is_told_by_every_address_with_times_to_the_second_and_its_own_commands() {
    let style = Style { width: 120, ..Style::default() };
    let live = || vec![edit("print", EditState::Live)];
    let time = Some("2026-11-29T21:18:56.717690764Z");
    let text = host_text(&host(live(), true, time, Some("no route to host")), &style);
    let heading = "\non ssh://gpu1 (also ssh://10.0.0.1), which cannot be asked now (no route to host); as of 2026-11-29T21:18:56Z:\n";
    assert!(text.starts_with(heading), "{text}");
    assert!(text.ends_with("`bystander --on ssh://gpu1 patch revert print-1` takes it back\n"), "{text}");
    let text = host_text(&host(live(), false, time, None), &style);
    assert!(text.contains("which was not asked; as of 2026-11-29T21:18:56Z:\nNOT clean: 1 edit live"), "{text}");
    let text = host_text(&host(Vec::new(), false, time, None), &style);
    assert!(text.contains("no edit was live there as of 2026-11-29T21:18:56Z; `bystander --on ssh://gpu1 patch verify`"), "{text}");
    assert!(host_text(&host(Vec::new(), false, None, None), &style).contains("never seen; `bystander --on ssh://gpu1 patch status`"));
}

#[test]
fn what_is_in_conflict_on_another_machine_is_not_told_as_live() {
    let style = Style { width: 200, ..Style::default() };
    let states = |states: &[EditState]| states.iter().map(|state| edit("print", *state)).collect::<Vec<_>>();
    let (live, stuck, gone) = (EditState::Live, EditState::Conflict, EditState::Reverted);
    let cases: [(&[EditState], &str); 3] =
        [(&[live, stuck, live, gone], "2 edits live, 1 in conflict"), (&[stuck, gone], "1 edit in conflict"), (&[live], "1 edit live")];
    for (edits, said) in cases {
        let hosts = vec![host(states(edits), true, None, None)];
        let notes = live_elsewhere(&hosts, "revert");
        assert_eq!(notes, format!("on ssh://gpu1 (also ssh://10.0.0.1): {said}: `bystander --on ssh://gpu1 patch revert`\n"));
        let status = patch_text(&PatchReport { hosts, ..PatchReport::default() }, &style, COMMAND);
        assert!(status.starts_with(&format!("NOT clean: {said} on ssh://gpu1 (also ssh://10.0.0.1). On this machine")), "{status}");
    }
}

#[test]
fn a_verb_that_asks_nobody_says_what_it_did_not_look_at() {
    let style = Style::default();
    let time = Some("2026-11-29T21:18:56.5Z");
    let hosts = vec![host(vec![edit("print", EditState::Live)], false, time, None)];
    let seen = "on ssh://gpu1 (also ssh://10.0.0.1): 1 edit live, when it was last asked at 2026-11-29T21:18:56Z: \
                `bystander --on ssh://gpu1 patch revert`\n";
    assert_eq!(live_elsewhere(&hosts, "revert"), seen);
    let reverted = PatchReport { hosts: hosts.clone(), ..PatchReport::default() };
    assert_eq!(revert_text(&reverted, 0, &style, COMMAND), format!("Nothing to take back on this machine.\n{seen}"));
    let verified = PatchReport { hosts, searched_files: Some(3), ..PatchReport::default() };
    let text = patch_text(&verified, &style, COMMAND);
    let expected = "NOT clean: 1 edit live on ssh://gpu1 (also ssh://10.0.0.1) when it was last asked. On this machine no edit is live";
    assert!(text.replace('\n', " ").starts_with(expected), "{text}");
    let clean = PatchReport { clean: true, hosts: vec![host(Vec::new(), false, time, None)], ..PatchReport::default() };
    assert!(patch_text(&clean, &style, COMMAND).starts_with("Clean: no edit is live, in conflict or left behind on this machine.\n"));
}
