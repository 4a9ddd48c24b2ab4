//! The state directory: made once, found from below, refused where it is not ours or newer.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use bystander_model::evidence::Stream;
use bystander_model::ids::{RunId, TrialId};
use bystander_store::{StateDir, StateError, Store, StoreError};

use crate::fixture::{all, note, state, store_with};

#[test]
fn a_state_directory_hides_itself_and_is_opened_again() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("deep/er/.bystander");
    let made = StateDir::open(&path).expect("made");
    assert_eq!(fs::read_to_string(path.join(".gitignore")).expect("reads"), "*\n");
    assert_eq!(fs::read_to_string(path.join("format")).expect("reads"), "1\n");
    assert!(made.runs_dir().is_dir() && made.locks_dir().is_dir());
    fs::write(path.join(".gitignore"), "mine\n").expect("writes");
    assert_eq!(StateDir::open(&path).expect("opened again"), made);
    assert_eq!(fs::read_to_string(path.join(".gitignore")).expect("reads"), "mine\n", "what the user changed stays");
    assert_eq!(StateDir::open_existing(&path).expect("opened to read"), made);
    let missing = StateDir::open_existing(&folder.path().join("none")).expect_err("there is none");
    assert!(missing.to_string().contains("nothing was recorded there"), "{missing}");
}

#[test]
fn a_state_directory_is_found_from_below() {
    let folder = tempfile::tempdir().expect("folder");
    let made = state(folder.path());
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).expect("folders");
    assert_eq!(StateDir::find(&below).expect("looks"), Some(made));
    let nearer = state(&folder.path().join("a"));
    assert_eq!(StateDir::find(&below).expect("looks"), Some(nearer));
    assert_eq!(StateDir::beside(Path::new("/x/story.toml")), Path::new("/x/.bystander"));
    assert_eq!(StateDir::beside(Path::new("story.toml")), Path::new(".bystander"));
}

#[test]
fn a_newer_or_unreadable_format_is_refused_and_nothing_is_changed() {
    let folder = tempfile::tempdir().expect("folder");
    let made = state(folder.path());
    let format = made.path().join("format");
    fs::write(&format, "7\n").expect("writes");
    for result in [StateDir::open(made.path()), StateDir::open_existing(made.path())] {
        let error = result.expect_err("newer");
        assert!(matches!(error, StateError::Newer { found: 7, known: 1, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(".bystander") && text.contains("format 7") && text.contains("up to 1"), "{text}");
    }
    assert!(StateDir::find(folder.path()).is_err(), "a newer one is not passed over");
    fs::write(&format, "two\n").expect("writes");
    let error = StateDir::open(made.path()).expect_err("no number");
    assert!(error.to_string().contains("\"two\""), "{error}");
    assert_eq!(fs::read_to_string(&format).expect("reads"), "two\n");
}

#[test]
fn a_folder_that_holds_something_else_is_not_taken_over() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("thesis.tex"), "x").expect("writes");
    let error = StateDir::open(folder.path()).expect_err("somebody's folder");
    assert!(matches!(&error, StateError::Foreign { example, .. } if example == Path::new("thesis.tex")), "{error:?}");
    assert!(!folder.path().join(".gitignore").exists(), "nothing of it is hidden from git");
    let empty = tempfile::tempdir().expect("folder");
    StateDir::open(empty.path()).expect("an empty folder is fine");
    let cut_short = tempfile::tempdir().expect("folder");
    for name in [".gitignore", ".unfinished-Xy12ab"] {
        fs::write(cut_short.path().join(name), "*\n").expect("writes");
    }
    StateDir::open(cut_short.path()).expect("a creation that was cut short is completed");
}

#[test]
fn first_openings_at_once_all_succeed() {
    for round in 0..30 {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join(".bystander");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for opener in 0..8 {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    let state = StateDir::open(path).unwrap_or_else(|error| panic!("round {round}: {error}"));
                    // What others keep beside the record must not pass for somebody else's file.
                    fs::write(path.join(format!("key-{opener}")), "x").expect("writes");
                    assert_eq!(fs::read_to_string(path.join("format")).expect("reads"), "1\n");
                    Store::open(&state).unwrap_or_else(|error| panic!("round {round}: {error}"));
                });
            }
        });
        let names = fs::read_dir(&path).expect("lists").map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned());
        assert_eq!(names.filter(|name| name.starts_with(".unfinished-")).count(), 0);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("folder");
    fs::write(folder.path().join("file"), "x").expect("writes");
    let error = StateDir::open(&folder.path().join("file/.bystander")).expect_err("a file is no folder");
    assert!(matches!(&error, StateError::Unwritable { .. }) && error.to_string().contains("file/.bystander"), "{error:?}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_without_the_name_that_it_has_until_it_is_whole() {
    let folder = tempfile::tempdir().expect("folder");
    let error = bystander_store::state::write_once(&folder.path().join("none/file"), b"x", 0o600).expect_err("there is no such folder");
    assert!(error.raw_os_error().is_some() && !error.to_string().contains("unfinished"), "{error}");
}

#[test]
fn output_files_lie_in_the_folder_of_their_trial() {
    let folder = tempfile::tempdir().expect("folder");
    let state = state(folder.path());
    let run = RunId("story-1".into());
    let made = state.create_trial_dir(&run, TrialId(3)).expect("made");
    assert_eq!(made, state.path().join("runs/story-1/trial-3"));
    assert!(made.is_dir());
    let log = state.output_file(&run, TrialId(3), Stream::Stderr);
    assert_eq!(state.relative(&log), Path::new("runs/story-1/trial-3/stderr.log"));
    assert_eq!(state.resolve(&state.relative(&log)), log);
    assert_eq!(state.relative(Path::new("/elsewhere/x")), Path::new("/elsewhere/x"));
}

#[test]
fn a_damaged_record_is_named_and_nothing_is_deleted() {
    let folder = tempfile::tempdir().expect("folder");
    let state = state(folder.path());
    let mut store = store_with(&state, "r");
    store.append_all(&(0..2000).map(|seq| note("r", seq)).collect::<Vec<_>>()).expect("appends");
    drop(store);
    let whole = fs::read(state.database()).expect("reads");

    fs::write(state.database(), b"this is no database, but a text that is long enough to be looked at").expect("writes");
    let error = Store::open(&state).expect_err("no database");
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("record.sqlite") && text.contains("nothing was deleted") && text.contains("move it aside"), "{text}");

    let mut torn = whole.clone();
    let middle = torn.len() / 4;
    let end = torn.len();
    torn[middle..end].fill(0xa5);
    fs::write(state.database(), &torn).expect("writes");
    let result =
        Store::open(&state).and_then(|store| store.events(&bystander_model::ids::RunId("r".into()))?.collect::<Result<Vec<_>, _>>());
    assert!(matches!(&result, Err(StoreError::Corrupt { .. })), "{:?}", result.map(|events| events.len()));
    assert_eq!(fs::read(state.database()).expect("reads"), torn, "left as it was");

    fs::write(state.database(), &whole).expect("writes");
    assert_eq!(all(&Store::open(&state).expect("opens"), "r").len(), 2000);
}

#[test]
fn a_record_from_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let state = state(folder.path());
    drop(store_with(&state, "r"));
    // `user_version` lies at byte 60 of a database, big endian.
    let mut bytes = fs::read(state.database()).expect("reads");
    bytes[60..64].copy_from_slice(&9_u32.to_be_bytes());
    fs::write(state.database(), &bytes).expect("writes");
    let before = fs::metadata(state.database()).expect("there").mtime_nsec();
    let error = Store::open(&state).expect_err("newer");
    assert!(matches!(error, StoreError::Newer { found: 9, known: 1, .. }), "{error:?}");
    assert_eq!(fs::metadata(state.database()).expect("there").mtime_nsec(), before, "untouched");
}
