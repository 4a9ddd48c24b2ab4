//! Writing the private folder that puts probes into every Python process of a program: a prefix of `PYTHONPATH`, nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::check::{CheckedProbe, compiled};
use crate::embed::{OVERLAY, SITECUSTOMIZE};

/// The environment variable that names the overlay; the program may see it, and so may who looks for covered processes.
pub const OVERLAY_VARIABLE: &str = "BYSTANDER_OVERLAY";

/// Why an overlay was not written.
#[derive(Debug, Error)]
pub enum OverlayError {
    /// A file or folder of the overlay cannot be made.
    #[error("write the probe overlay at `{}`", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The folder cannot stand in `PYTHONPATH`.
    #[error("use `{}` for the probe overlay: a path in `PYTHONPATH` is absolute and has no colon", path.display())]
    Path {
        /// The folder.
        path: PathBuf,
    },
}

/// A written overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    dir: PathBuf,
    ring_dir: PathBuf,
}

impl Overlay {
    /// Writes the overlay of some probes to a folder of its own and makes the folder for the rings, both for this user alone.
    ///
    /// # Errors
    /// [`OverlayError`] where a path does not fit or a file cannot be written.
    pub fn materialise(dir: &Path, probes: &[CheckedProbe], ring_dir: &Path) -> Result<Self, OverlayError> {
        if !dir.is_absolute() || dir.as_os_str().as_bytes().contains(&b':') || !ring_dir.is_absolute() {
            return Err(OverlayError::Path { path: dir.to_owned() });
        }
        let package = dir.join("bystander_overlay");
        for folder in [dir, &package, ring_dir] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|source| OverlayError::Write { path: folder.to_owned(), source })?;
        }
        write(&dir.join("sitecustomize.py"), SITECUSTOMIZE)?;
        for (name, source) in OVERLAY {
            write(&package.join(format!("{name}.py")), source)?;
        }
        if let Some(library) = bystander_recorder::LIBRARY {
            write(&package.join(bystander_recorder::FILE_NAME), library)?;
        }
        write(&package.join("plan.py"), plan(probes, ring_dir))?;
        Ok(Self { dir: dir.to_owned(), ring_dir: ring_dir.to_owned() })
    }

    /// The folder that the overlay lies in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder that the rings go to.
    #[must_use]
    pub fn ring_dir(&self) -> &Path {
        &self.ring_dir
    }

    /// The variables to set for the program; `python_path` is the `PYTHONPATH` that it would have without the overlay.
    #[must_use]
    pub fn env(&self, python_path: Option<&OsStr>) -> Vec<(OsString, OsString)> {
        let mut path = self.dir.clone().into_os_string();
        if let Some(rest) = python_path.filter(|rest| !rest.is_empty()) {
            path.push(":");
            path.push(rest);
        }
        vec![("PYTHONPATH".into(), path), (OVERLAY_VARIABLE.into(), self.dir.clone().into_os_string())]
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), OverlayError> {
    std::fs::write(path, content).map_err(|source| OverlayError::Write { path: path.to_owned(), source })
}

/// The generated module: where rings go, what to do in which file.
fn plan(probes: &[CheckedProbe], ring_dir: &Path) -> String {
    let mut targets: BTreeMap<OsString, BTreeSet<usize>> = BTreeMap::new();
    let mut names: BTreeSet<OsString> = BTreeSet::new();
    let mut entries = String::new();
    for (index, probe) in probes.iter().enumerate() {
        let real = probe.path.canonicalize().unwrap_or_else(|_| probe.path.clone());
        for path in [&probe.path, &real] {
            targets.entry(path.clone().into_os_string()).or_default().insert(index);
            names.extend(path.file_name().map(OsStr::to_owned));
        }
        _ = writeln!(entries, "    {},", entry(index, probe));
    }
    let targets: Vec<String> = targets
        .iter()
        .map(|(path, indices)| format!("{}: [{}]", literal(path.as_bytes()), join(indices.iter().map(ToString::to_string))))
        .collect();
    let names = join(names.iter().map(|name| literal(name.as_bytes())));
    format!(
        "\"\"\"Generated: the probes of one trial.\"\"\"\n\nRING_FOLDER = {}\nPROBES = [\n{entries}]\nTARGETS = {{{}}}\nBASENAMES = frozenset([{names}])\n",
        literal(ring_dir.as_os_str().as_bytes()),
        targets.join(", "),
    )
}

fn entry(index: usize, probe: &CheckedProbe) -> String {
    let text = |text: &Option<String>| text.as_ref().map_or_else(|| "None".to_owned(), |text| literal(text.as_bytes()));
    let finding = &probe.finding;
    format!(
        "{{\"index\": {index}, \"name\": {}, \"module\": {}, \"function\": {}, \"line\": {}, \"after\": {}, \"mark\": {}, \"moment\": {}, \"capture\": [{}], \"condition\": {}, \"rank\": {}, \"unsafe\": {}, \"compiled\": {}, \"rate\": {}, \"limit\": {}}}",
        literal(probe.name.as_bytes()),
        text(&finding.module),
        text(&finding.function),
        finding.line.map_or_else(|| "None".to_owned(), |line| line.to_string()),
        text(&finding.after),
        text(&finding.mark),
        text(&finding.moment),
        join(probe.capture.iter().map(|text| literal(text.as_bytes()))),
        text(&probe.condition),
        text(&probe.rank),
        if probe.unsafe_capture { "True" } else { "False" },
        text(&compiled(finding.compiled).map(str::to_owned)),
        probe.rate.map_or_else(|| "None".to_owned(), |rate| format!("{:?}", rate.per_second())),
        probe.limit,
    )
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Spells bytes as a Python string literal; what is not UTF-8 becomes the surrogates by which Python names such paths.
pub(crate) fn literal(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                ' '..='~' => out.push(c),
                c => _ = write!(out, "\\U{:08x}", u32::from(c)),
            }
        }
        for byte in chunk.invalid() {
            _ = write!(out, "\\udc{byte:02x}");
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn any_bytes_have_a_literal() {
        assert_eq!(literal(b"a\"b\\c\n"), r#""a\"b\\c\U0000000a""#);
        assert_eq!(literal("é".as_bytes()), r#""\U000000e9""#);
        assert_eq!(literal(b"/x/\xff"), r#""/x/\udcff""#);
    }
}
