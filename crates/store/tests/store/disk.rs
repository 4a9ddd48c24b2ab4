//! A full disk is told apart, what was recorded stays readable while it is full, and the record goes on once there is space.

use std::path::Path;
use std::process::Command;

use bystander_model::ids::RunId;
use bystander_store::{StateDir, StateError, Store, StoreError};

use crate::fixture::{all, child, child_folder, note, state, store_with};

/// Writes until the disk is full; the ballast is what somebody else can delete then.
fn fill(folder: &Path, space_again: impl Fn()) {
    let state = state(folder);
    let mut store = store_with(&state, "r");
    let mut acknowledged = 0;
    let error = loop {
        match store.append_all(&(acknowledged..acknowledged + 5).map(|seq| note("r", seq)).collect::<Vec<_>>()) {
            Ok(5) => acknowledged += 5,
            Ok(new) => panic!("{new} of 5 were new"),
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000_000, "the disk never got full");
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("record.sqlite: the disk is full"), "{error}");
    assert!(acknowledged > 100, "only {acknowledged} fitted");
    let wanted: Vec<_> = (0..acknowledged).map(|seq| note("r", seq)).collect();
    assert!(all(&store, "r") == wanted, "readable by the writer");
    drop(store);

    let mut store = Store::open(&state).expect("opens while the disk is full");
    assert!(all(&store, "r") == wanted, "readable by others while the disk is full");
    assert_eq!(store.next_seq(&RunId("r".into()), note("r", 0).trial, note("r", 0).origin).expect("reads"), acknowledged);
    // Closing gave back the space of the log; this is more than that.
    let large: Vec<_> = (acknowledged..acknowledged + 8000).map(|seq| note("r", seq)).collect();
    assert!(matches!(store.append_all(&large), Err(StoreError::DiskFull { .. })), "still full");

    space_again();
    assert_eq!(store.append_all(&large[..500]).expect("there is space again"), 500);
    assert_eq!(all(&store, "r").len() as u64, acknowledged + 500);
}

/// The record in a folder that cannot be written to is read, and not written.
fn read_only(folder: &Path) {
    let state = state(folder);
    let wanted = all(&Store::open(&state).expect("opens"), "r");
    let status = Command::new("mount").args(["-o", "remount,ro"]).arg(folder).status().expect("mount runs");
    assert!(status.success(), "the file system becomes read-only");
    let again = StateDir::open_existing(state.path()).expect("found");
    let mut store = Store::open(&again).expect("opens");
    assert!(all(&store, "r") == wanted, "readable");
    let error = store.append(&note("r", 1_000_000)).expect_err("read-only");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    let error = StateDir::open(state.path()).expect_err("not to be written to");
    assert!(matches!(error, StateError::Unwritable { .. }), "{error:?}");
}

/// Whether a private mount namespace with a file system in memory can be made, and with which arguments.
fn mount_arguments() -> Option<Vec<&'static str>> {
    let ways = [vec!["--mount"], vec!["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find(|arguments| {
        let folder = tempfile::tempdir().expect("folder");
        let script = "mount -t tmpfs -o size=64k none \"$0\"";
        let status = Command::new("unshare").args(arguments).args(["sh", "-c", script]).arg(folder.path()).output();
        status.is_ok_and(|output| output.status.success())
    })
}

#[test]
fn a_full_file_system_stops_the_writer_and_loses_nothing() {
    if let Some(folder) = child_folder() {
        let ballast = folder.join("ballast");
        std::fs::write(&ballast, vec![1_u8; 1024 * 1024]).expect("ballast");
        fill(&folder, || std::fs::remove_file(&ballast).expect("removes"));
        read_only(&folder);
        return;
    }
    let Some(arguments) = mount_arguments() else {
        // The test below covers the same ground everywhere, with a limit instead of a full file system.
        assert!(std::env::var_os("CI").is_none(), "no file system can be mounted here, and CI allows no skip");
        return;
    };
    let folder = tempfile::tempdir().expect("folder");
    let inner = child("disk::a_full_file_system_stops_the_writer_and_loses_nothing", folder.path());
    let mut outer = Command::new("unshare");
    outer.args(arguments).args(["sh", "-c", "mount -t tmpfs -o size=2m none \"$0\" && exec \"$@\""]).arg(folder.path());
    outer.arg(inner.get_program()).args(inner.get_args()).env(crate::CHILD, folder.path());
    let output = outer.output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
}

/// A file size limit fails a write as a used-up quota does: not as a full disk, but for want of space all the same.
#[test]
fn a_write_that_is_refused_for_want_of_space_counts_as_a_full_disk() {
    if let Some(folder) = child_folder() {
        let pid = std::process::id().to_string();
        let lift = || {
            let status = Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().expect("prlimit runs");
            assert!(status.success(), "the soft limit can be raised again");
        };
        fill(&folder, lift);
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let inner = child("disk::a_write_that_is_refused_for_want_of_space_counts_as_a_full_disk", folder.path());
    let mut outer = Command::new("sh");
    // The signal that comes with the limit is ignored, as bystander itself ignores it.
    outer.args(["-c", "trap '' XFSZ; ulimit -S -f 4096; exec \"$@\"", "sh"]).arg(inner.get_program()).args(inner.get_args());
    let output = outer.env(crate::CHILD, folder.path()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
}
