//! Output without measure: its size must not be the size of what looks at it.

use std::fs;

use bystander_testkit::{LIMIT, until};
use serde_json::Value;

use crate::world::{assert_nothing_left, python_world, run, trials};

/// Writes as many MB of lines, one of them of 100 MB, and a number at the end.
const PROGRAM: &str = r#"
import sys
out = sys.stdout.buffer
lines = b"".join(b"[2026-11-29 13:31:46 TP0] Decode batch. #token: %d, gen throughput (token/s): %d.5, cuda graph: True\n" % (n, n) for n in range(10000))
for _ in range(int(sys.argv[1]) * 1000000 // len(lines)):
    out.write(lines)
for _ in range(100):
    out.write(b"x" * 1000000)
out.write(b"\nmax_total_num_tokens=152797 at last\n")
"#;

/// More than this is never needed, whatever is written.
const MOST_KIB: u64 = 160 << 10;

#[test]
#[ignore = "writes more than a gigabyte in a release build; run by `just test-all`"]
fn a_gigabyte_of_log_and_a_line_of_a_hundred_megabytes_cost_no_memory() {
    let Some(world) = python_world() else { return };
    world.write("case/write.py", PROGRAM);
    // Hashing alone takes minutes where nothing is optimised.
    let megabytes = if cfg!(debug_assertions) { 100 } else { 1000 };
    let text = format!(
        "[program]\ncommand = ['python3', 'write.py', '{megabytes}']\ntimeout = '10m'\n[metrics]\n\
         tokens = {{ log = 'max_total_num_tokens=(\\d+)' }}\nlast = {{ log = '#token: (\\d+)', pick = 'last' }}\n\
         [plan]\nblocks = 1\ndescribe = true\n"
    );
    let file = world.write("case/case.toml", &text);
    let mut running = run(&world, &file).start();
    let mut most = 0;
    until("the run is over", 5 * LIMIT, || {
        most = most.max(peak_kib(running.pid()).unwrap_or(0));
        running.has_ended()
    });
    let report: Value = running.wait().exits(0).json();
    let trial = &trials(&report)[0];
    assert_eq!((trial["metrics"]["tokens"].as_f64(), trial["metrics"]["last"].as_f64()), (Some(152_797.0), Some(9999.0)), "{trial:#}");
    assert!(most > 1000 && most < MOST_KIB, "{most} KiB");
    assert_nothing_left(&world);
}

/// The most memory that a process has ever held.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}
