//! The reader of rings and process records: any bytes are hits, or none; never a panic, never a loop without end.
//!
//! The first two bytes of the input say how many of the rest are the record; what follows is the ring.
#![no_main]

use std::fs;
use std::sync::LazyLock;

use bystander_probe::{CheckedProbe, Drain};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
});

fn probe() -> CheckedProbe {
    let text = r#"{"name":"p","path":"/a.py","sha256":"","line":1,"side":"before","chosen":"before `x` at 1","scope":"f","capture":["a","b"],
        "rank":"r","unsafe_capture":false,"limit":10,"finding":{"function":"f","line":null,"after":null,"mark":null}}"#;
    serde_json::from_str(text).expect("a probe")
}

fuzz_target!(|bytes: &[u8]| {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (record, ring) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let folder = FOLDER.path();
    fs::write(folder.join("1.2.proc"), record).expect("write");
    fs::write(folder.join("1.2.ring"), ring).expect("write");
    let mut drain = Drain::new(folder, &[probe(), probe()]);
    // Read again and again, as a trial does; an error of the system is an answer too.
    for _ in 0..2 {
        let _ = drain.poll();
    }
    let _ = drain.finish();
});
