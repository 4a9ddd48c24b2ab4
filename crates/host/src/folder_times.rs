//! Modification times of folders in which files are replaced. Each replacement leaves the folder with the names it had before, so it gets back the
//! time it had: a folder's time tells when its names changed, and they did not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The times of some folders, as they were.
#[derive(Debug)]
#[must_use = "the times are given back by `give_back`"]
pub struct FolderTimes(Vec<(PathBuf, SystemTime)>);

impl FolderTimes {
    /// Looks at the folders that hold these files, links followed. A folder that cannot be looked at is left out.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut folders: Vec<PathBuf> = files.into_iter().filter_map(|file| Some(file.canonicalize().ok()?.parent()?.to_owned())).collect();
        folders.sort();
        folders.dedup();
        let with_time = |folder: PathBuf| {
            let time = fs::metadata(&folder).and_then(|metadata| metadata.modified()).ok()?;
            Some((folder, time))
        };
        Self(folders.into_iter().filter_map(with_time).collect())
    }

    /// Gives each folder the time it had.
    ///
    /// # Errors
    /// The first that could not be given back; every one is tried.
    pub fn give_back(self) -> io::Result<()> {
        let set = |(folder, time): (PathBuf, SystemTime)| {
            fs::File::open(folder).and_then(|folder| folder.set_times(fs::FileTimes::new().set_modified(time)))
        };
        self.0.into_iter().map(set).fold(Ok(()), Result::and)
    }
}

#[cfg(test)]
mod tests {
    use super::FolderTimes;

    #[test]
    fn a_folder_whose_file_was_replaced_has_its_time_again() {
        let world = tempfile::tempdir().expect("temporary folder");
        let file = world.path().join("file");
        std::fs::write(&file, "old").expect("written");
        let modified = || std::fs::metadata(world.path()).expect("there").modified().expect("known");
        let before = modified();
        let times = FolderTimes::of([file.as_path(), &world.path().join("none")]);
        std::fs::write(world.path().join("new"), "new").expect("written");
        std::fs::rename(world.path().join("new"), &file).expect("renamed");
        times.give_back().expect("own folder");
        assert_eq!(modified(), before);
    }
}
