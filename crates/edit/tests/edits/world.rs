//! A folder with files to edit, a state directory and a registry; snapshots of files and folders.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bystander_edit::{Action, EditSpec, Journal, PreparedEdit, Steps, prepare};
use rustix::fs::OFlags;
use tempfile::TempDir;

/// Everything that an undo promises to give back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: u32,
    owner: (u32, u32),
    pub(crate) mtime: (i64, i64),
    atime: (i64, i64),
    links: u64,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    is_link: bool,
}

/// Takes a snapshot, without moving the access time.
pub(crate) fn snapshot(path: &Path) -> Snapshot {
    use std::os::unix::ffi::OsStrExt;
    let stat = fs::metadata(path).expect("the file is there");
    let xattrs = xattr::list_deref(path).map(|names| {
        names.map(|name| (name.as_bytes().to_vec(), xattr::get_deref(path, &name).expect("read").unwrap_or_default())).collect()
    });
    Snapshot {
        mode: stat.mode(),
        owner: (stat.uid(), stat.gid()),
        mtime: (stat.mtime(), stat.mtime_nsec()),
        atime: (stat.atime(), stat.atime_nsec()),
        links: stat.nlink(),
        xattrs: xattrs.unwrap_or_default(),
        is_link: path.is_symlink(),
        bytes: read_quietly(path),
    }
}

fn read_quietly(path: &Path) -> Vec<u8> {
    let flags = i32::from_ne_bytes(OFlags::NOATIME.bits().to_ne_bytes());
    let mut bytes = Vec::new();
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).expect("own file");
    file.read_to_end(&mut bytes).expect("readable");
    bytes
}

/// The names in a folder and below, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            found.extend(names(&path).iter().map(|below| format!("{name}/{below}")));
        }
        found.push(name);
    }
    found.sort();
    found
}

pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("edit-").tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("tree")).expect("created");
        Self { folder }
    }

    pub(crate) fn tree(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).expect("there").join("tree")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("project/.bystander")
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.folder.path().join("registry")
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::open(&self.state(), &self.registry()).expect("opened")
    }

    pub(crate) fn journal_with(&self, steps: Arc<dyn Steps>) -> Journal {
        Journal::open_with(&self.state(), &self.registry(), steps).expect("opened")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.tree().join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    /// Asserts that neither the tree, the registry nor the journal holds anything of an edit that is on disk.
    pub(crate) fn assert_nothing_left(&self) {
        let in_tree: Vec<String> = names(&self.tree()).into_iter().filter(|name| name.contains(".bystander-")).collect();
        assert_eq!(in_tree, Vec::<String>::new());
        let in_registry: Vec<String> = names(&self.registry()).into_iter().filter(|name| name != "lock").collect();
        assert_eq!(in_registry, Vec::<String>::new());
        let copies = names(&self.state().join("edits"));
        let copies: Vec<&String> =
            copies.iter().filter(|name| !matches!(name.as_str(), "lock" | "format" | "format.tmp") && !name.ends_with(".json")).collect();
        assert_eq!(copies, Vec::<&String>::new());
    }
}

pub(crate) fn insert(file: &Path, find: &str, text: &str) -> EditSpec {
    edit(file, find, Action::InsertAfter(text.into()))
}

pub(crate) fn edit(file: &Path, find: &str, action: Action) -> EditSpec {
    EditSpec { name: "print".to_owned(), file: file.to_path_buf(), find: find.to_owned(), action, sha256: None }
}

pub(crate) fn prepared(spec: &EditSpec) -> PreparedEdit {
    prepare(spec).expect("the text is there once")
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own file");
}

/// Sets access and modification time, in nanoseconds after a fixed second.
pub(crate) fn set_times(path: &Path, second: u64, atime_ns: u32, mtime_ns: u32) {
    let time = |ns| std::time::UNIX_EPOCH + std::time::Duration::new(second, ns);
    let times = fs::FileTimes::new().set_accessed(time(atime_ns)).set_modified(time(mtime_ns));
    fs::File::open(path).and_then(|file| file.set_times(times)).expect("own file");
}
