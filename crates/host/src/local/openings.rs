//! Whether anybody opened an edited file while the edit was in it.
//!
//! There may be two copies of a module, a built program, an archive: an edit of what the program does not load changes nothing, and a comparison would
//! call it harmless. The kernel tells of every opening of a file, whatever the program is written in, and not whose it was. So an opening says
//! little, and only that there was none says something. Where openings might go unseen nothing is said.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use bystander_lab::cause::Contamination;
use bystander_model::edit::AppliedEdit;
use bystander_model::evidence::{Evidence, EvidenceKind};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::statfs;

/// The class of a trial whose edit nobody read.
const CLASS: &str = "instrument.unread";

/// File systems of this machine alone, by the numbers of `statfs(2)`: bcachefs, btrfs, ext2 to ext4, f2fs, overlayfs, tmpfs, XFS and ZFS. Others may be read
/// from another machine.
const LOCAL: [u32; 8] = [0xca45_1a4e, 0x9123_683e, 0xef53, 0xf2f5_2010, 0x794c_7630, 0x0102_1994, 0x5846_5342, 0x2fc1_2fc1];

/// A look at the edited files of one trial.
#[derive(Debug, Default)]
pub(super) struct Openings {
    kernel: Option<OwnedFd>,
    watched: Vec<Watched>,
}

/// A file that is looked at.
#[derive(Debug)]
struct Watched {
    number: i32,
    file: PathBuf,
    edit: String,
}

impl Openings {
    /// Begins to look. Files that cannot be looked at are left out: nothing is ever said of them.
    pub(super) fn of(edits: &[AppliedEdit]) -> Self {
        let kernel = (!edits.is_empty()).then(|| inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()).flatten();
        let Some(kernel) = kernel else { return Self::default() };
        let files = edits.iter().filter(|edit| is_local(&edit.file));
        let watched = files.filter_map(|edit| {
            let number = inotify::add_watch(&kernel, &edit.file, WatchFlags::OPEN).ok()?;
            Some(Watched { number, file: edit.file.clone(), edit: edit.name.clone() })
        });
        Self { watched: watched.collect(), kernel: Some(kernel) }
    }

    /// Ends it: the first edit whose file nobody has opened, if there is one.
    pub(super) fn unread(self) -> Option<Contamination> {
        let opened = opened(&self.kernel?)?;
        let Watched { file, edit, .. } = self.watched.into_iter().find(|watched| !opened.contains(&watched.number))?;
        let file = file.display().to_string();
        let text = format!(
            "nobody opened {file} while edit `{edit}` was in it: the program loads something else, such as another copy or what was built before"
        );
        let evidence = Evidence { trial: None, kind: EvidenceKind::Sample, place: file, text: text.clone() };
        Some(Contamination { class: CLASS.to_owned(), text, evidence: vec![evidence] })
    }
}

fn is_local(file: &Path) -> bool {
    // The kernel's type is signed or not, by the machine; the numbers are 32 bits.
    statfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)))
}

/// The files that were opened; `None` where some of it was lost.
fn opened(kernel: &OwnedFd) -> Option<BTreeSet<i32>> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = Reader::new(kernel, &mut buffer);
    let mut opened = BTreeSet::new();
    loop {
        match events.next() {
            Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return None,
            Ok(event) => opened.insert(event.wd()),
            Err(rustix::io::Errno::WOULDBLOCK) => return Some(opened),
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::{AppliedEdit, CLASS, Openings};

    fn edit(name: &str, file: &Path) -> AppliedEdit {
        AppliedEdit {
            id: name.to_owned(),
            name: name.to_owned(),
            file: file.to_owned(),
            before_sha256: String::new(),
            after_sha256: String::new(),
            added_lines: 1..2,
        }
    }

    fn file(folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, "true\n").expect("a file");
        path
    }

    #[test]
    fn only_a_file_that_nobody_opened_is_unread() {
        let folder = tempfile::tempdir().expect("a folder");
        let [read, run, left] = ["read", "run", "left"].map(|name| file(&folder, name));
        let edits = [edit("first", &read), edit("second", &run), edit("third", &left), edit("fourth", &left)];
        let look = Openings::of(&edits);
        fs::read(&read).expect("a file");
        assert!(Command::new("/bin/sh").arg(&run).status().expect("a shell").success());
        // To look at a file is not to open it.
        fs::metadata(&left).expect("a file");
        let found = look.unread().expect("one is unread");
        assert_eq!(found.class, CLASS);
        assert!(found.text.contains("left while edit `third`"), "{}", found.text);

        let look = Openings::of(&edits);
        for path in [&read, &run, &left] {
            fs::read(path).expect("a file");
        }
        assert!(look.unread().is_none());
    }

    #[test]
    fn nothing_is_said_without_edits_and_of_a_file_that_is_gone() {
        assert!(Openings::of(&[]).unread().is_none());
        assert!(Openings::of(&[edit("gone", Path::new("/nowhere/at/all"))]).unread().is_none());
    }
}
