//! Dev-only: a keeper for the tests and benchmarks.

use std::process::ExitCode;

fn main() -> ExitCode {
    bystander_supervise::keeper::main()
}
