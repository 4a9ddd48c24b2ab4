//! The private mounts of one trial: patched copies over files, and a `.pth` file in a layer over the interpreter's packages.
//!
//! Everything lies in the trial's own folder and nothing on disk changes, so that there is nothing to undo: the kernel takes the mounts down
//! with the last process of the trial.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use bystander_edit::{EditSpec, PrepareError, PreparedEdit};
use bystander_lab::cause::Contamination;
use bystander_model::edit::AppliedEdit;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_probe::{Overlay, OverlayError};
use bystander_supervise::Namespace;
use bystander_supervise::namespace::{Bind, MountWatch, OverlayDir};
use sha2::{Digest, Sha256};

use super::bytecode::{self, Exposed};
use super::{DETACHED, prepare};

/// Why the private mounts of a trial could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// An edit cannot be made.
    #[error(transparent)]
    Edit(#[from] PrepareError),
    /// A file of them cannot be written or read.
    #[error("prepare the private mounts at {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The `.pth` file cannot be written.
    #[error(transparent)]
    Pth(#[from] OverlayError),
    /// The interpreter does not say where its packages are.
    #[error("ask {} for its package folders: {answer}", python.display())]
    Packages {
        /// The interpreter.
        python: PathBuf,
        /// What it said instead.
        answer: String,
    },
}

/// The private mounts of one trial, prepared.
#[derive(Debug)]
pub struct Private {
    namespace: Namespace,
    watch: MountWatch,
    applied: Vec<AppliedEdit>,
    exposed: Vec<Exposed>,
    /// The folder for bytecode of the trial's processes, where some would otherwise go to disk.
    prefix: Option<PathBuf>,
}

impl Private {
    /// Prepares patched copies for edits, and, where `pth` names an overlay and the program's interpreter, a layer with its `.pth` file.
    ///
    /// `folder` is a new one of the trial.
    ///
    /// # Errors
    /// [`PrivateError`] where an edit cannot be made or something cannot be written.
    pub fn lay(folder: &Path, edits: &[EditSpec], pth: Option<(&Overlay, &Path)>) -> Result<Self, PrivateError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PrivateError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        let prepared = prepare(edits)?;
        let mut laid = Laid::default();
        for (at, edit) in prepared.iter().enumerate() {
            // Edits of one file lie on top of each other: the last one has them all.
            if prepared[at + 1..].iter().all(|above| above.real != edit.real) {
                laid.cover(folder, at, edit).map_err(failed(&edit.real))?;
            }
        }
        let mut namespace = Namespace { binds: laid.binds, ..Namespace::default() };
        if let Some((overlay, python)) = pth {
            let layer = folder.join("layer");
            overlay.write_pth(&layer)?;
            let packages = packages(python)?;
            namespace.layers = packages.into_iter().map(|target| OverlayDir { layer: layer.clone(), target }).collect();
            let scratch = folder.join("scratch");
            fs::create_dir_all(&scratch).map_err(failed(&scratch))?;
            namespace.scratch = Some(scratch);
        }
        let watch = MountWatch::new(&namespace).map_err(failed(folder))?;
        let prefix = (!laid.exposed.is_empty()).then(|| folder.join("pycache"));
        Ok(Self { namespace, watch, applied: prepared.iter().map(applied).collect(), exposed: laid.exposed, prefix })
    }

    /// What the program's processes see otherwise.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The edits that they see.
    #[must_use]
    pub fn applied(&self) -> &[AppliedEdit] {
        &self.applied
    }

    /// The variable that keeps bytecode of mounted files off the disk, where one is needed.
    #[must_use]
    pub fn env(&self) -> Option<(&'static str, &Path)> {
        self.prefix.as_deref().map(|prefix| ("PYTHONPYCACHEPREFIX", prefix))
    }

    /// What voids the trial: a mount that its processes do not have any more. `pid` is one of them, while it lives.
    #[must_use]
    pub fn detached(&self, pid: Option<u32>) -> Option<Contamination> {
        let lost = self.watch.detached(pid).into_iter().next()?;
        let text = format!("{}; the trial did not run with its instrument throughout", lost.text);
        let place = lost.target.display().to_string();
        let evidence = vec![Evidence { trial: None, kind: EvidenceKind::Sample, place, text: text.clone() }];
        Some(Contamination { class: DETACHED.to_owned(), text, evidence })
    }

    /// Takes out bytecode that processes with `-I` or `-E` may have written beside mounted files; to be called after the trial.
    pub fn forget_bytecode(&self) {
        self.exposed.iter().for_each(Exposed::forget);
    }
}

/// What has been laid so far.
#[derive(Debug, Default)]
struct Laid {
    binds: Vec<Bind>,
    exposed: Vec<Exposed>,
}

impl Laid {
    /// Makes the copy that is mounted over one file, and keeps its bytecode apart.
    fn cover(&mut self, folder: &Path, at: usize, edit: &PreparedEdit) -> io::Result<()> {
        let place = folder.join(at.to_string());
        fs::create_dir_all(&place)?;
        let copy = place.join(edit.real.file_name().unwrap_or_default());
        write_copy(&copy, edit)?;
        if bytecode::has_bytecode(&edit.real) {
            match bytecode::private(&edit.real, &place.join("pycache"))? {
                // Two files of one package share their bytecode folder.
                Some(bind) if self.binds.iter().any(|known| known.target == bind.target) => {}
                Some(bind) => self.binds.push(bind),
                None => self.exposed.push(Exposed::new(&edit.real, &copy)?),
            }
        }
        self.binds.push(Bind { source: copy, target: edit.real.clone(), writable: false });
        Ok(())
    }
}

/// Writes the patched copy with the mode, owner and attributes of the file, as far as they may be given, and a time of its own.
fn write_copy(copy: &Path, edit: &PreparedEdit) -> io::Result<()> {
    fs::write(copy, &edit.after)?;
    let original = fs::metadata(&edit.real)?;
    // Only a superuser may give files away.
    let _ = chown(copy, Some(original.uid()), Some(original.gid()));
    fs::set_permissions(copy, Permissions::from_mode(original.mode() & 0o7777))?;
    for name in xattr::list(&edit.real).into_iter().flatten() {
        // Attributes of the system cannot all be given; the program rarely asks.
        let _ = xattr::get(&edit.real, &name).and_then(|value| xattr::set(copy, &name, &value.unwrap_or_default()));
    }
    let mut time = SystemTime::now();
    let second = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    while original.modified().is_ok_and(|modified| second(modified) == second(time)) {
        // Bytecode knows a version of a file by its second.
        time += Duration::from_secs(1);
    }
    File::options().append(true).open(copy).or_else(|_| File::open(copy))?.set_modified(time)
}

fn applied(edit: &PreparedEdit) -> AppliedEdit {
    let sum = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    AppliedEdit {
        id: "mount".to_owned(),
        name: edit.name.clone(),
        file: edit.real.clone(),
        before_sha256: sum(&edit.before),
        after_sha256: sum(&edit.after),
        added_lines: edit.added_lines.clone(),
    }
}

/// The package folders that an interpreter looks at even when the environment is hidden.
fn packages(python: &Path) -> Result<Vec<PathBuf>, PrivateError> {
    let question = "import site\nfor folder in site.getsitepackages(): print(folder)";
    let refused = |answer: String| PrivateError::Packages { python: python.to_owned(), answer };
    let done = Command::new(python).args(["-I", "-B", "-c", question]).output().map_err(|error| refused(error.to_string()))?;
    if !done.status.success() {
        return Err(refused(String::from_utf8_lossy(&done.stderr).trim().to_owned()));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for line in String::from_utf8_lossy(&done.stdout).lines() {
        // `site` names folders that need not be there, and some twice by a link.
        if let Ok(folder) = fs::canonicalize(line)
            && folder.is_dir()
            && !found.contains(&folder)
        {
            found.push(folder);
        }
    }
    if found.is_empty() { Err(refused("none of them is there".to_owned())) } else { Ok(found) }
}
