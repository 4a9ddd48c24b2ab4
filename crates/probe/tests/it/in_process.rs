//! The tests of the in-process part, written in Python, on every Python.

use std::path::Path;
use std::process::Command;

use crate::world::on_each;

#[test]
fn the_python_tests_pass_on_every_python() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/tests");
    on_each(|python| {
        for name in ["test_encode", "test_rewrite", "test_ring", "test_check", "test_moments", "test_hostile", "test_gate", "test_compiled"]
        {
            let output = Command::new(&python.path).args(["-B", "-m", "unittest", name]).current_dir(&tests).output().expect("runs");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !text.contains("Ran 0 tests"), "3.{} {name}: {text}", python.minor);
        }
    });
}
