//! Looks through a whole tree for what edits leave: marks, temporary files; on request, debugger calls.
//!
//! Every file is read, ignored and hidden ones too, but for what version control and this program keep for themselves. Links are not followed.
//! Memory is bounded whatever the files are.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::marker;

/// So many bytes are looked at in one go.
const PIECE: usize = 256 << 10;
/// So many findings of one kind are told.
const MOST: usize = 1000;
/// Calls that stop a program or wait for a debugger; source: the documentation of pdb, ipdb, pudb, debugpy and code.
const DEBUGGERS: [&str; 8] = [
    "breakpoint(",
    "pdb.set_trace(",
    "ipdb.set_trace(",
    "pudb.set_trace(",
    "debugpy.listen(",
    "debugpy.wait_for_client(",
    "debugpy.breakpoint(",
    "code.interact(",
];

/// What a look through a tree found.
#[derive(Debug, Default)]
pub struct Scan {
    /// How many files were read.
    pub files: u64,
    /// Files that hold a mark: the file, the line of the first one, the id in it.
    pub marks: Vec<(PathBuf, u64, String)>,
    /// Temporary files of edits.
    pub temporaries: Vec<PathBuf>,
    /// Calls of debuggers in Python sources: the file, the line, the call.
    pub debuggers: Vec<(PathBuf, u64, String)>,
    /// What could not be read, and why.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// Looks through a tree. `strict` also looks for debugger calls; folders below the root for which `is_own` holds are left out: a state directory holds
/// copies of edited files by design.
///
/// # Errors
/// The root itself cannot be read; anything below that cannot is told in the answer.
pub fn scan(root: &Path, strict: bool, is_own: impl Fn(&Path) -> bool + Send + Sync + 'static) -> io::Result<Scan> {
    std::fs::symlink_metadata(root)?;
    let found = Mutex::new(Scan::default());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).follow_links(false).threads(threads).filter_entry(move |entry| is_looked_at(entry, &is_own));
    let walker = walk.build_parallel();
    walker.run(|| {
        let mut piece = vec![0; PIECE];
        let found = &found;
        Box::new(move |entry| {
            let mut one = Scan::default();
            match entry {
                Ok(entry) => look(&entry, strict, &mut piece, &mut one),
                Err(error) => one.unreadable.push((root.to_path_buf(), error.to_string())),
            }
            found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).add(one);
            WalkState::Continue
        })
    });
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.marks.sort();
    found.temporaries.sort();
    found.debuggers.sort();
    found.unreadable.sort();
    Ok(found)
}

impl Scan {
    fn add(&mut self, other: Self) {
        fn put<T>(all: &mut Vec<T>, more: Vec<T>) {
            let room = MOST.saturating_sub(all.len());
            all.extend(more.into_iter().take(room));
        }
        self.files += other.files;
        put(&mut self.marks, other.marks);
        put(&mut self.temporaries, other.temporaries);
        put(&mut self.debuggers, other.debuggers);
        put(&mut self.unreadable, other.unreadable);
    }
}

/// The objects of version control are no part of the tree, nor is what is this program's own.
fn is_looked_at(entry: &DirEntry, is_own: &dyn Fn(&Path) -> bool) -> bool {
    let is_below = entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir());
    !(is_below && (matches!(entry.file_name().to_str(), Some(".git" | ".hg" | ".svn" | ".jj")) || is_own(entry.path())))
}

fn look(entry: &DirEntry, strict: bool, piece: &mut [u8], found: &mut Scan) {
    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
        return;
    }
    let path = entry.path();
    if is_temporary(entry) {
        found.temporaries.push(path.to_path_buf());
    }
    found.files += 1;
    let is_python = path.extension().is_some_and(|end| end == "py" || end == "pyw");
    let debuggers: &[&str] = if strict && is_python { &DEBUGGERS } else { &[] };
    let read = crate::target::open(path).and_then(|file| {
        read(file, piece, |offset_line, bytes| {
            if found.marks.last().is_none_or(|(last, ..)| last != path)
                && let Some((at, id)) = marker::first(bytes)
            {
                found.marks.push((path.to_path_buf(), offset_line + newlines(&bytes[..at]), id));
            }
            for call in debuggers {
                if let Some((line, call)) = call_in(bytes, call) {
                    found.debuggers.push((path.to_path_buf(), offset_line + line, call));
                }
            }
        })
    });
    match read {
        Ok(()) => {}
        // Gone between the list and the look.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => found.unreadable.push((path.to_path_buf(), error.to_string())),
    }
}

/// Gives a file piece by piece, overlapping by more than a mark, with the number of the line that a piece starts on.
fn read(mut file: File, piece: &mut [u8], mut each: impl FnMut(u64, &[u8])) -> io::Result<()> {
    const OVERLAP: usize = 64;
    let mut kept = 0;
    let mut line = 1;
    loop {
        let mut filled = kept;
        while filled < piece.len() {
            match file.read(&mut piece[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if filled > kept || kept == 0 {
            each(line, &piece[..filled]);
        }
        if filled < piece.len() {
            return Ok(());
        }
        line += newlines(&piece[..filled - OVERLAP]);
        piece.copy_within(filled - OVERLAP..filled, 0);
        kept = OVERLAP;
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The first line with a call that is code, not part of a longer name and not behind a `#`, counted from 0.
fn call_in(bytes: &[u8], call: &str) -> Option<(u64, String)> {
    memchr::memmem::find_iter(bytes, call).find_map(|at| {
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
        let head = &bytes[start..at];
        let named = head.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_.\"'`".contains(byte));
        (!named && !head.contains(&b'#')).then(|| (newlines(&bytes[..at]), format!("{call})")))
    })
}

/// `.bystander-ID.tmp`.
fn is_temporary(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_str();
    let id = name.and_then(|name| name.strip_prefix(".bystander-")).and_then(|name| name.strip_suffix(".tmp"));
    id.is_some_and(|id| id.len() == marker::DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{PIECE, scan};

    #[test]
    fn marks_are_found_anywhere_in_files_of_any_kind_and_size() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mark = format!("bystander-patch-{}", "0123456789ab");
        let write = |name: &str, bytes: Vec<u8>| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("below")).expect("created");
            fs::write(&path, bytes).expect("written");
            path
        };
        let across = [vec![b'\n'; PIECE - 7], mark.clone().into_bytes(), vec![0xff; 3 * PIECE]].concat();
        let mut expected = vec![
            write("a.py", format!("x = 1\ny = 2  # {mark}\n").into_bytes()),
            write("ignored/b.bin", across),
            write(".hidden/c", mark.clone().into_bytes()),
        ];
        write(".gitignore", b"ignored\n".to_vec());
        write(".git/objects/d", mark.into_bytes());
        write("e.md", b"bystander-patch-ID and bystander-patch-0123456789abcd\n".to_vec());
        let temporary = write(".bystander-0123456789ab.tmp", Vec::new());
        write("f.py", b"breakpoint()\n# breakpoint()\nimport pdb; pdb.set_trace()\nmy_breakpoint()\n".to_vec());
        let own = folder.path().join("own");
        write("own/copy", b"bystander-patch-0123456789ab\n".to_vec());
        let found = scan(folder.path(), false, move |path| path == own).expect("read");
        expected.sort();
        assert_eq!(found.marks.iter().map(|(path, ..)| path.clone()).collect::<Vec<_>>(), expected);
        let lines: Vec<u64> = found.marks.iter().map(|(_, line, _)| *line).collect();
        assert_eq!(lines, [1, 2, PIECE as u64 - 6]);
        assert_eq!((found.temporaries, found.unreadable.len(), found.debuggers.len()), (vec![temporary], 0, 0));
        let strict = scan(folder.path(), true, |_| false).expect("read");
        assert_eq!(
            strict.debuggers.iter().map(|(_, line, call)| (*line, call.as_str())).collect::<Vec<_>>(),
            [(1, "breakpoint()"), (3, "pdb.set_trace()")]
        );
        assert!(scan(&folder.path().join("none"), false, |_| false).is_err());
    }
}
