//! Everything that making a namespace needs, ready before the fork: after it nothing may be allocated.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

use super::{Namespace, Step};

/// A namespace as arguments of system calls.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(super) cwd: CString,
    pub(super) uid_map: CString,
    pub(super) gid_map: CString,
    pub(super) scratch: Option<CString>,
    pub(super) layers: Vec<LayerCalls>,
    pub(super) binds: Vec<BindCalls>,
    paths: Vec<PathBuf>,
}

/// One overlayfs.
#[derive(Debug)]
pub(super) struct LayerCalls {
    pub(super) target: CString,
    pub(super) upper: CString,
    pub(super) work: CString,
    /// What the folder's root is to look like: it takes its looks from the uppermost layer.
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    /// The options to try, one after the other.
    pub(super) options: [CString; 3],
}

/// One bound file.
#[derive(Debug)]
pub(super) struct BindCalls {
    pub(super) source: CString,
    pub(super) target: CString,
    pub(super) writable: bool,
}

impl Layout {
    /// Prepares a namespace for a program that starts in `cwd`.
    ///
    /// # Errors
    /// Where a path has a zero byte, a layered folder cannot be read, or layers have no scratch folder.
    pub(crate) fn new(namespace: &Namespace, cwd: &Path) -> io::Result<Self> {
        let scratch = match (&namespace.scratch, namespace.layers.is_empty()) {
            (_, true) => None,
            (Some(scratch), false) => Some(scratch),
            (None, false) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "layers without a scratch folder")),
        };
        let layers = namespace.layers.iter().enumerate().map(|(index, layer)| {
            // A layer is here only where a scratch folder is.
            let scratch = scratch.map(PathBuf::as_path).unwrap_or(Path::new("/"));
            LayerCalls::new(&layer.layer, &layer.target, scratch, index)
        });
        let binds = namespace
            .binds
            .iter()
            .map(|bind| Ok(BindCalls { source: text(&bind.source)?, target: text(&bind.target)?, writable: bind.writable }));
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let paths = [namespace.scratch.clone().unwrap_or_default(), cwd.to_owned()];
        let targets = namespace.layers.iter().map(|layer| &layer.target).chain(namespace.binds.iter().map(|bind| &bind.target));
        Ok(Self {
            cwd: text(cwd)?,
            uid_map: CString::new(format!("{uid} {uid} 1\n"))?,
            gid_map: CString::new(format!("{gid} {gid} 1\n"))?,
            scratch: scratch.map(|scratch| text(scratch)).transpose()?,
            layers: layers.collect::<io::Result<_>>()?,
            binds: binds.collect::<io::Result<_>>()?,
            paths: paths.into_iter().chain(targets.cloned()).collect(),
        })
    }

    /// The path that a step was about; `index` counts the layers or the binds.
    pub(crate) fn path_of(&self, step: Step, index: usize) -> Option<PathBuf> {
        let at = match step {
            Step::Scratch | Step::ScratchFolders => 0,
            Step::Directory => 1,
            Step::Overlay => 2 + index,
            Step::Bind | Step::ReadOnly => 2 + self.layers.len() + index,
            Step::UnshareMounts | Step::UnshareUser | Step::MapIds | Step::Propagation | Step::Drop => return None,
        };
        self.paths.get(at).cloned()
    }
}

impl LayerCalls {
    /// One for trying out; `lower` is the option that names what lies below.
    pub(super) fn trial(target: &CStr, upper: &CStr, work: &CStr, lower: &CStr, owner: (u32, u32)) -> io::Result<Self> {
        let writable = [lower.to_bytes(), b",upperdir=", upper.to_bytes(), b",workdir=", work.to_bytes()].concat();
        let marked_by_user = [writable.as_slice(), b",userxattr"].concat();
        let options = [CString::new(writable)?, CString::new(marked_by_user)?, lower.to_owned()];
        Ok(Self { target: target.to_owned(), upper: upper.to_owned(), work: work.to_owned(), mode: 0o755, owner, options })
    }

    fn new(layer: &Path, target: &Path, scratch: &Path, index: usize) -> io::Result<Self> {
        let looks = std::fs::metadata(target)?;
        let (upper, work) = (scratch.join(format!("upper{index}")), scratch.join(format!("work{index}")));
        let lower = [b"lowerdir=".as_slice(), &escaped(layer, b":,\\"), b":", &escaped(target, b":,\\")].concat();
        let writable = [lower.as_slice(), b",upperdir=", &escaped(&upper, b",\\"), b",workdir=", &escaped(&work, b",\\")].concat();
        // Without rights over the machine the marks of overlayfs must be those of users; without any place for marks, nothing
        // can be written, and that still serves a program that only reads.
        let marked_by_user = [writable.as_slice(), b",userxattr"].concat();
        Ok(Self {
            target: text(target)?,
            upper: text(&upper)?,
            work: text(&work)?,
            mode: looks.mode() & 0o7777,
            owner: (looks.uid(), looks.gid()),
            options: [CString::new(writable)?, CString::new(marked_by_user)?, CString::new(lower)?],
        })
    }
}

fn text(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// A path inside mount options, where some bytes need a backslash.
fn escaped(path: &Path, special: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| if special.contains(byte) { vec![b'\\', *byte] } else { vec![*byte] };
    OsStr::as_bytes(path.as_os_str()).iter().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Bind, Namespace, OverlayDir, Step};
    use super::{Layout, escaped};

    #[test]
    fn special_bytes_of_options_are_escaped() {
        assert_eq!(escaped(Path::new("/a,b:c\\d"), b":,\\"), b"/a\\,b\\:c\\\\d");
        assert_eq!(escaped(Path::new("/plain"), b":,\\"), b"/plain");
    }

    #[test]
    fn every_step_knows_its_path() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let namespace = Namespace {
            binds: vec![Bind { source: "/s".into(), target: "/t".into(), writable: false }],
            layers: vec![OverlayDir { layer: "/l".into(), target: folder.path().into() }],
            scratch: Some("/scratch".into()),
        };
        let layout = Layout::new(&namespace, Path::new("/cwd")).expect("prepares");
        assert_eq!(layout.path_of(Step::Overlay, 0).as_deref(), Some(folder.path()));
        assert_eq!(layout.path_of(Step::Bind, 0).as_deref(), Some(Path::new("/t")));
        assert_eq!(layout.path_of(Step::Scratch, 0).as_deref(), Some(Path::new("/scratch")));
        assert_eq!(layout.path_of(Step::Directory, 0).as_deref(), Some(Path::new("/cwd")));
        assert_eq!(layout.path_of(Step::UnshareUser, 0), None);
    }

    #[test]
    fn layers_need_a_place_for_what_is_written() {
        let layers = vec![OverlayDir { layer: "/l".into(), target: "/".into() }];
        assert!(Layout::new(&Namespace { layers, ..Namespace::default() }, Path::new("/")).is_err());
    }
}
