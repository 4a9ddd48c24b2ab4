//! A folder with all that is in it, to be compared with how it is later.
//!
//! Type, mode, owner, modification time, size, content and extended attributes are compared. Access time, change time, inode and birth time are not:
//! reading moves the first, and nobody can restore the others.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Type and permissions.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// Length of a file; 0 for everything else.
    pub size: u64,
    /// SHA-256 of a file in hex, or where a link leads.
    pub content: String,
    /// Extended attributes by name, as far as they can be read.
    pub attributes: BTreeMap<String, Vec<u8>>,
}

/// Everything in a folder by its path below it, the folder itself included as the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The entries.
    pub entries: BTreeMap<PathBuf, Entry>,
}

impl Tree {
    /// Looks at a folder and at all below it that `counts`, by path below the folder.
    ///
    /// # Panics
    /// Where something in it cannot be read.
    #[must_use]
    pub fn of(folder: &Path, counts: impl Fn(&Path) -> bool) -> Self {
        let mut entries = BTreeMap::new();
        walk(folder, Path::new(""), &counts, &mut entries);
        Self { entries }
    }

    /// Everything that is not the same in another tree, one sentence each.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let paths: std::collections::BTreeSet<&PathBuf> = self.entries.keys().chain(other.entries.keys()).collect();
        let differs = |path: &&PathBuf| self.entries.get(*path) != other.entries.get(*path);
        let told = |path: &PathBuf| match (self.entries.get(path), other.entries.get(path)) {
            (Some(_), None) => format!("{} is gone", path.display()),
            (None, _) => format!("{} is new", path.display()),
            (Some(was), Some(is)) => format!("{} was {was:?} and is {is:?}", path.display()),
        };
        paths.into_iter().filter(differs).map(told).collect()
    }
}

fn walk(folder: &Path, below: &Path, counts: &impl Fn(&Path) -> bool, entries: &mut BTreeMap<PathBuf, Entry>) {
    let path = if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) };
    let entry = look(&path);
    let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
    entries.insert(below.to_owned(), entry);
    if !is_folder {
        return;
    }
    for found in fs::read_dir(&path).expect("a readable folder") {
        let next = below.join(found.expect("a readable entry").file_name());
        if counts(&next) {
            walk(folder, &next, counts, entries);
        }
    }
}

fn look(path: &Path) -> Entry {
    let metadata = fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (size, content) = if metadata.is_file() {
        (metadata.len(), sha256(path))
    } else {
        (0, fs::read_link(path).map_or_else(|_| String::new(), |target| target.display().to_string()))
    };
    let names = xattr::list(path).map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    let attributes =
        names.into_iter().map(|name| (name.to_string_lossy().into_owned(), xattr::get(path, &name).ok().flatten().unwrap_or_default()));
    Entry {
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        mtime_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        size,
        content,
        attributes: attributes.collect(),
    }
}

fn sha256(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    use super::Tree;

    #[test]
    fn each_kind_of_change_is_seen_and_reading_is_none() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["bytes", "mode", "time", "gone"] {
            fs::write(path(name), "text").expect("written");
        }
        std::os::unix::fs::symlink("bytes", path("link")).expect("linked");
        let time = |file: &Path| fs::metadata(file).expect("there").modified().expect("known");
        let (before, written) = (Tree::of(folder.path(), |_| true), time(&path("bytes")));
        fs::read(path("bytes")).expect("read");
        assert_eq!(before.differences(&Tree::of(folder.path(), |_| true)), Vec::<String>::new());
        fs::write(path("bytes"), "next").expect("written");
        let set = |name: &str, time| fs::File::open(path(name)).and_then(|file| file.set_times(fs::FileTimes::new().set_modified(time)));
        set("bytes", written).expect("own file");
        set("time", UNIX_EPOCH + Duration::from_nanos(1)).expect("own file");
        fs::set_permissions(path("mode"), fs::Permissions::from_mode(0o600)).expect("own file");
        fs::remove_file(path("gone")).expect("removed");
        fs::remove_file(path("link")).expect("removed");
        std::os::unix::fs::symlink("mode", path("link")).expect("linked");
        fs::write(path("new"), "").expect("written");
        let after = Tree::of(folder.path(), |path| path != Path::new("ignored"));
        let changed: Vec<String> = before.differences(&after).iter().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
        assert_eq!(changed, ["", "bytes", "gone", "link", "mode", "new", "time"]);
    }
}
