//! Kills a writer at any moment: what it acknowledged is there, and sending everything again adds nothing twice.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use bystander_model::ids::RunId;
use bystander_store::{RunStatus, Store};

use crate::fixture::{all, child, child_folder, note, state, store_with};

const ROUNDS: u64 = 25;

/// Appends for ever, one event or a batch of seven at a time, and says on stdout up to which number it was acknowledged.
fn write_until_killed(folder: &Path) {
    let mut store = store_with(&state(folder), "r");
    let mut seq = store.next_seq(&RunId("r".into()), note("r", 0).trial, note("r", 0).origin).expect("a number");
    let mut out = std::io::stdout().lock();
    loop {
        let size = if seq.is_multiple_of(3) { 7 } else { 1 };
        let events: Vec<_> = (seq..seq + size).map(|seq| note("r", seq)).collect();
        assert_eq!(store.append_all(&events).expect("appends") as u64, size);
        seq += size;
        writeln!(out, "\nacknowledged {seq}").and_then(|()| out.flush()).expect("the parent reads");
    }
}

#[test]
fn what_a_killed_writer_acknowledged_is_recorded_once() {
    if let Some(folder) = child_folder() {
        write_until_killed(&folder);
    }
    let folder = tempfile::tempdir().expect("folder");
    let mut before = 0;
    for round in 0..ROUNDS {
        let mut writer = child("kill::what_a_killed_writer_acknowledged_is_recorded_once", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a writer");
        let mut lines = BufReader::new(writer.stdout.take().expect("its output")).lines();
        let mut acknowledged = || {
            let line = lines.find_map(|line| line.expect("a line").strip_prefix("acknowledged ").map(str::to_owned));
            line.map(|number| number.parse::<u64>().expect("a number"))
        };
        // The kill falls anywhere into the appends that follow this many.
        let random = RandomState::new().hash_one(round);
        let mut last = before;
        for _ in 0..=random % 40 {
            last = acknowledged().expect("it goes on until it is killed");
        }
        for _ in 0..random % 7919 {
            std::hint::spin_loop();
        }
        writer.kill().expect("kills");
        while let Some(number) = acknowledged() {
            last = number;
        }
        writer.wait().expect("is gone");

        let store = Store::open(&state(folder.path())).expect("opens after the kill");
        let recorded = all(&store, "r");
        let seqs: Vec<u64> = recorded.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (0..recorded.len() as u64).collect::<Vec<_>>(), "no gap and nothing twice");
        assert!(recorded.len() as u64 >= last, "{} recorded, {last} acknowledged, round {round}", recorded.len());
        assert!(last > before, "every round gets on");
        before = recorded.len() as u64;
    }
    let mut store = Store::open(&state(folder.path())).expect("opens");
    let sent_again: Vec<_> = (0..before + 5).map(|seq| note("r", seq)).collect();
    assert_eq!(store.append_all(&sent_again).expect("appends"), 5);
    assert_eq!(all(&store, "r"), sent_again);
    assert_eq!(store.latest().expect("reads").map(|run| run.status), Some(RunStatus::Running));
}
