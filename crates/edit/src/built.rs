//! What was built from the edited text of a source: objects and programs that a list of dependencies ties to it.
//!
//! A file counts where a `.d` file (as compilers and cargo write them) names the source, or where it lies beside it as `STEM.o` or `STEM`; and where
//! its time lies between the edit and its undo. Nothing else ties a program to its source: what is not found may still have been built from it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ignore::WalkBuilder;

/// Larger lists of dependencies are not read, in bytes.
const LARGEST: u64 = 4 << 20;

/// The time from an edit to its undo, RFC 3339 both; `None` where they cannot be read.
pub(crate) fn window(made: &str, undone: &str) -> Option<(SystemTime, SystemTime)> {
    let time = |text: &str| {
        let nanoseconds = u128::try_from(text.parse::<jiff::Timestamp>().ok()?.as_nanosecond()).ok()?;
        Some(UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).ok()?))
    };
    Some((time(made)?, time(undone)?))
}

/// Finds what was built from `source` within a time, below `root`.
pub(crate) fn built_from(source: &Path, root: &Path, (made, undone): (SystemTime, SystemTime)) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        ["o", "obj", "so", ""].iter().map(|end| source.with_extension(end)).filter(|path| path != source).collect();
    let lists = WalkBuilder::new(root).standard_filters(false).follow_links(false).build().flatten();
    for entry in lists.filter(|entry| entry.path().extension().is_some_and(|end| end == "d")) {
        let small = entry.metadata().is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
        if small && let Ok(text) = fs::read(entry.path()) {
            found.extend(outputs(&text, source, root, entry.path()));
        }
    }
    let is_code = |path: &PathBuf| {
        let head = fs::File::open(path).and_then(|mut file| {
            let mut head = [0; 8];
            std::io::Read::read_exact(&mut file, &mut head).map(|()| head)
        });
        head.is_ok_and(|head| head.starts_with(b"\x7fELF") || head.starts_with(b"!<arch>\n"))
    };
    let in_time = |path: &PathBuf| fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|time| made <= time && time <= undone);
    found.sort();
    found.dedup();
    found.retain(|path| in_time(path) && is_code(path));
    found
}

/// What a list of dependencies says is made from a source.
fn outputs(list: &[u8], source: &Path, root: &Path, list_path: &Path) -> Vec<PathBuf> {
    let joined = String::from_utf8_lossy(list).replace("\\\n", " ");
    let folder = list_path.parent().unwrap_or(root);
    let places = |name: &str| {
        let name = Path::new(name);
        let mut places = vec![root.join(name), folder.join(name)];
        places.extend(folder.ancestors().take_while(|above| above.starts_with(root)).map(|above| above.join(name)));
        places
    };
    let mut found = Vec::new();
    for line in joined.lines() {
        let Some((made, from)) = line.split_once(": ") else { continue };
        let named = words(from).iter().any(|name| {
            places(name).iter().any(|place| {
                place.as_os_str().as_bytes() == source.as_os_str().as_bytes() || place.canonicalize().is_ok_and(|real| real == source)
            })
        });
        if named {
            found.extend(words(made).iter().flat_map(|name| places(name)).filter(|path| path.is_file()));
        }
    }
    found
}

/// Names with blanks between; a blank in a name is written behind a backslash.
fn words(text: &str) -> Vec<String> {
    text.replace("\\ ", "\0").split_whitespace().map(|word| word.replace('\0', " ")).collect()
}
