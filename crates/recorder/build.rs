//! Compiles `native/recorder.rs` to a shared object that depends on no C runtime, for the target that this crate is built for.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "native/recorder.rs";

fn main() {
    println!("cargo::rerun-if-changed=native");
    println!("cargo::rustc-check-cfg=cfg(bystander_recorder)");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let fits = variable("CARGO_CFG_TARGET_OS") == "linux"
        && variable("CARGO_CFG_TARGET_ENV") == "gnu"
        && variable("CARGO_CFG_TARGET_POINTER_WIDTH") == "64"
        && variable("CARGO_CFG_TARGET_ENDIAN") == "little";
    if fits {
        compile(&PathBuf::from(variable("OUT_DIR")).join("recorder.so"));
        println!("cargo::rustc-cfg=bystander_recorder");
    }
}

fn compile(library: &Path) {
    let target = env::var("TARGET").unwrap_or_default();
    let mut command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "bystander_recorder", "--target", &target]);
    command.args(["-Copt-level=3", "-Cpanic=abort", "-Cstrip=symbols", "-Cdebug-assertions=off", "-Coverflow-checks=off"]);
    // No C runtime: every symbol is taken from the interpreter, so none has a version of some C library.
    command.arg("-Clink-arg=-nostdlib");
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg([std::ffi::OsStr::new("linker="), &linker].into_iter().collect::<std::ffi::OsString>());
    }
    command.arg(SOURCE).arg("-o").arg(library);
    let output = command.output().unwrap_or_else(|error| fail(&format!("start {:?}: {error}", command.get_program())));
    if !output.status.success() {
        fail(&format!("compile {SOURCE} for {target}:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
}

/// Ends the build with a message that cargo shows.
fn fail(what: &str) -> ! {
    for line in format!("bystander-recorder failed to {what}").lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}
