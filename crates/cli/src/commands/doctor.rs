//! `bystander doctor`: what works on this machine, and how to mend what does not.

mod gpus;
mod machine;
mod packs;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use bystander_edit::default_registry_dir;
use bystander_model::printed::Finding;
use bystander_store::StateDir;
use bystander_supervise::namespaces_available;

use crate::args::DoctorArgs;
use crate::failure::{Failure, exit};
use crate::output::{Output, other_state};

/// Asks a Python for its version and its path.
const VERSION: &str = "import sys; print('.'.join(map(str, sys.version_info[:3])) + ' ' + sys.executable)";

/// Tries everything.
pub(crate) fn run(args: &DoctorArgs, named: Option<&Path>, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut findings = vec![
        processes(),
        python(args.python.as_deref()),
        shared_memory(),
        state(named),
        registry(),
        temporary(),
        git(),
        memory_counters(),
        private_mounts(),
        machine::space(named),
        machine::pythons(),
        machine::stacks(),
        machine::set_clock(),
    ];
    findings.extend(gpus::findings());
    findings.extend(packs::findings(args.python.as_deref()));
    output.findings(&findings);
    let works = findings.iter().all(|finding| finding.works || finding.optional);
    Ok(ExitCode::from(if works { exit::ANSWERED } else { exit::HARNESS }))
}

fn finding(name: &'static str, found: Result<String, String>, mend: &str) -> Finding {
    let works = found.is_ok();
    let mend = (!works).then(|| mend.to_owned());
    Finding { name: name.to_owned(), works, optional: false, found: found.unwrap_or_else(|error| error), mend }
}

fn optional(finding: Finding) -> Finding {
    Finding { optional: true, ..finding }
}

/// `/proc` must show this process, its children and its sockets: supervision rests on it.
fn processes() -> Finding {
    let found = ["/proc/self/stat", "/proc/self/task", "/proc/net/tcp", "/proc/sys/kernel/random/boot_id"]
        .into_iter()
        .find_map(|path| fs::metadata(path).err().map(|error| format!("{path}: {error}")));
    finding("process supervision", found.map_or_else(|| Ok("/proc is readable".to_owned()), Err), "run where /proc is mounted and readable")
}

/// The Python that was named, or `python3`.
fn python(named: Option<&OsStr>) -> Finding {
    let name = named.unwrap_or(OsStr::new("python3"));
    let shown = name.display();
    // Options that Python 2.7 knows, too; nothing of the working directory or the environment is imported.
    let asked = Command::new(name).args(["-E", "-s", "-S", "-c", VERSION]).stdin(Stdio::null()).output();
    let found = match asked {
        Err(error) => Err(format!("{shown} cannot be run: {error}")),
        Ok(output) if !output.status.success() => Err(format!("{shown} ends with an error ({})", output.status)),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let mut numbers = text.split(['.', ' ']).map_while(|part| part.parse::<u32>().ok());
            match numbers.next().zip(numbers.next()) {
                None => Err(format!("{shown} does not answer as a Python")),
                Some(version) if version < (3, 8) => Err(format!("{text} is older than 3.8: probes need 3.8")),
                Some(_) => Ok(text),
            }
        }
    };
    optional(finding("python3 for probes", found, "install Python 3.8 or newer; experiments without probes run without it"))
}

fn shared_memory() -> Finding {
    let found = write_to(Path::new("/dev/shm"), &[0; 4096]).map(|()| "/dev/shm can be written to".to_owned());
    optional(finding(
        "rings for hits",
        found.map_err(|error| format!("/dev/shm: {error}")),
        "mount a tmpfs on /dev/shm; experiments without probes run without it",
    ))
}

/// Tries whether files can be made in a folder. The file has no name any more when it is written to: whatever ends this process leaves nothing.
fn write_to(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(format!(".bystander-doctor-{}", std::process::id()));
    let mut file = File::create_new(&path)?;
    fs::remove_file(&path)?;
    file.write_all(bytes)
}

fn state(named: Option<&Path>) -> Finding {
    let path = named.map_or_else(|| Path::new(".").to_owned(), Path::to_owned);
    // Records and edits are written: that it can be read is not enough.
    let found = write_below(&path).map_err(|error| format!("{}: {error}", path.display())).map(|()| match StateDir::open_existing(&path) {
        Ok(state) => format!("{} can be read and written to", state.path().display()),
        Err(_) if named.is_none() => "a state directory can be made here".to_owned(),
        Err(_) => format!("{} can be made", path.display()),
    });
    finding("state directory", found, &format!("make room or give rights there, or {}", other_state()))
}

/// Tries whether a folder can be written to, or could be made in the nearest one above it that is there.
fn write_below(folder: &Path) -> io::Result<()> {
    let folder = std::path::absolute(folder)?;
    write_to(folder.ancestors().find(|folder| folder.exists()).unwrap_or(&folder), &[0; 4096])
}

fn registry() -> Finding {
    let Some(path) = default_registry_dir() else {
        return finding("registry of live edits", Err("neither XDG_STATE_HOME nor HOME is set".to_owned()), "set HOME");
    };
    let found = write_below(&path).map(|()| path.display().to_string()).map_err(|error| format!("{}: {error}", path.display()));
    finding("registry of live edits", found, "make room there, or set XDG_STATE_HOME to a directory that can be written to")
}

fn temporary() -> Finding {
    let folder = std::env::temp_dir();
    let found = write_to(&folder, &[0; 4096])
        .map(|()| format!("{} can be written to", folder.display()))
        .map_err(|error| format!("{}: {error}", folder.display()));
    optional(finding(
        "temporary folder",
        found,
        "make it, or set TMPDIR to a folder that can be written to; programs under test may need it, runs here do not",
    ))
}

fn git() -> Finding {
    let asked = Command::new("git").arg("--version").stdin(Stdio::null()).output();
    let found = asked
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .map_err(|error| format!("git cannot be run: {error}"));
    optional(finding("git state in records", found, "install git; records then say which commit ran"))
}

fn memory_counters() -> Finding {
    let v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let v1 = Path::new("/sys/fs/cgroup/memory").exists();
    let found = match (v2, v1) {
        (true, _) => Ok("cgroup v2: memory.events".to_owned()),
        (false, true) => Ok("cgroup v1: memory.oom_control".to_owned()),
        (false, false) => Err("no memory counters: a kill at the memory limit cannot be told from another SIGKILL".to_owned()),
    };
    optional(finding("memory limit evidence", found, "mount cgroups"))
}

/// What the delivery `mount` rests on; tried out, because no setting tells for sure.
fn private_mounts() -> Finding {
    let available = namespaces_available();
    let found = match available.refusal() {
        None => Ok(available.describe()),
        Some(refusal) => Err(format!("{}; {}", available.describe(), refusal.mend)),
    };
    optional(finding("private mounts", found, "the deliveries `overlay` and `patch` work without them"))
}
