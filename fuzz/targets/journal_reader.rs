//! The reader of the journal of edits and of the registry: any bytes in their files are edits, or an error that names the file.
//!
//! The first byte of the input says which file the rest is.
#![no_main]

use std::fs;
use std::path::Path;

use bystander_edit::{Journal, registry_holders, registry_status};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let world = tempfile::tempdir().expect("a folder");
    let (state, registry) = (world.path().join("state"), world.path().join("registry"));
    let edits = state.join("edits");
    fs::create_dir_all(&edits).expect("make");
    fs::create_dir_all(&registry).expect("make");
    let put = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("write");
    put(&edits.join("format"), if *choice == 0 { bytes } else { b"1\n" });
    match choice % 3 {
        1 => put(&edits.join("e1.json"), bytes),
        2 => put(&registry.join("e1.json"), bytes),
        _ => put(&edits.join("e1.before"), bytes),
    }
    if let Ok(journal) = Journal::open(&state, &registry) {
        let _ = journal.status();
        let _ = journal.holders();
        let _ = journal.verify();
    }
    let _ = registry_status(&registry);
    let _ = registry_holders(&registry);
});
