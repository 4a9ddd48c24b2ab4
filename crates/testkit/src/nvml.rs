//! A stand-in for the library of the NVIDIA driver, built with the machine's C compiler; what it answers stands in a file.
//!
//! Nothing of it is in the product: a process finds it because the path on which libraries are looked for leads there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// The source of the stand-in.
const SOURCE: &str = include_str!("nvml/stub.c");
/// What NVML's library is called.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// The stand-in and the file of its answers.
#[derive(Debug)]
pub struct Nvml {
    folder: TempDir,
}

/// One GPU as the stand-in shows it. Memory in MiB.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StubGpu {
    /// Its memory in all.
    pub total: u64,
    /// What is held of it.
    pub held: u64,
    /// What the driver keeps for itself.
    pub reserved: u64,
    /// Whether it does not answer.
    pub silent: bool,
    /// The slices (MIG) that it is divided into, such as `1g.10gb`.
    pub slices: Vec<&'static str>,
    /// The processes on it with their memory; `None` where the driver does not tell.
    pub processes: Vec<(u32, Option<u64>)>,
}

impl StubGpu {
    /// A GPU of 80 GiB of which so much is held.
    #[must_use]
    pub fn holding(held: u64) -> Self {
        Self { total: 80 << 10, held, ..Self::default() }
    }

    /// Adds a process that holds so much.
    #[must_use]
    pub fn by(mut self, pid: u32, held: u64) -> Self {
        self.processes.push((pid, Some(held)));
        self
    }
}

/// One MiB.
const MIB: u64 = 1 << 20;

impl Nvml {
    /// Builds the stand-in; `None` where there is no C compiler.
    ///
    /// # Panics
    /// Where the compiler refuses it.
    #[must_use]
    pub fn build() -> Option<Self> {
        let folder = tempfile::Builder::new().prefix("bystander-nvml-").tempdir().expect("a temporary folder");
        let source = folder.path().join("stub.c");
        fs::write(&source, SOURCE).expect("a file");
        let library = folder.path().join(LIBRARY);
        let built = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).output().ok()?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(Self { folder })
    }

    /// The folder of the library.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file of the answers.
    #[must_use]
    pub fn script(&self) -> PathBuf {
        self.folder.path().join("answers")
    }

    /// The answers as the stand-in reads them.
    #[must_use]
    pub fn text(gpus: &[StubGpu]) -> String {
        let mut text = String::new();
        for gpu in gpus {
            writeln!(text, "gpu {} {} {}", gpu.total * MIB, gpu.held * MIB, gpu.reserved * MIB).expect("a string takes any text");
        }
        for (index, gpu) in gpus.iter().enumerate() {
            if gpu.silent {
                writeln!(text, "silent {index}").expect("a string takes any text");
            }
            for slice in &gpu.slices {
                writeln!(text, "slice {index} {slice}").expect("a string takes any text");
            }
            for (pid, held) in &gpu.processes {
                let bytes = held.map_or_else(|| "-1".to_owned(), |held| (held * MIB).to_string());
                writeln!(text, "process {index} {pid} {bytes}").expect("a string takes any text");
            }
        }
        text
    }

    /// Sets what it answers from now on, in one step.
    ///
    /// # Panics
    /// Where the file cannot be written.
    pub fn show(&self, gpus: &[StubGpu]) {
        let next = self.folder.path().join("answers.next");
        fs::write(&next, Self::text(gpus)).expect("a file");
        fs::rename(&next, self.script()).expect("a file");
    }

    /// The variables with which a process finds it.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let inherited = std::env::var("LD_LIBRARY_PATH").ok().filter(|path| !path.is_empty());
        let path = [Some(self.folder().display().to_string()), inherited].into_iter().flatten().collect::<Vec<_>>().join(":");
        [("LD_LIBRARY_PATH", path), ("BYSTANDER_STUB_NVML", self.script().display().to_string())]
    }
}
