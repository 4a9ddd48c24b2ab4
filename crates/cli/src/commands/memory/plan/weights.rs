//! The weights in a folder: of each file the header is read, and nothing else.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bystander_memory::plan::checkpoint::{Checkpoint, HeaderError, LENGTH_BYTES, Tensor, header_length, tensors};

use crate::failure::Failure;

/// The end of the names of files with weights.
const ENDS: &str = ".safetensors";

/// Reads the headers of all weights in a folder; `None` where there are no weights.
pub(super) fn read(folder: &Path) -> Result<Option<Checkpoint>, Failure> {
    let files = files(folder)?;
    if files.is_empty() {
        return Ok(None);
    }
    check_complete(folder, &files)?;
    let halves = files.split_at(files.len() / 2);
    // Two threads: parsing is most of the work where a checkpoint has many experts.
    let read = std::thread::scope(|scope| {
        let first = scope.spawn(|| read_all(halves.0));
        let second = read_all(halves.1);
        (first.join(), second)
    });
    let (first, second) = match read {
        (Ok(first), second) => (first?, second?),
        (Err(panic), _) => std::panic::resume_unwind(panic),
    };
    Ok(Some(Checkpoint { tensors: first.into_iter().chain(second).collect(), is_read: true }))
}

fn read_all(files: &[PathBuf]) -> Result<Vec<Tensor>, Failure> {
    let mut all = Vec::new();
    for file in files {
        all.extend(read_one(file)?);
    }
    Ok(all)
}

fn read_one(file: &Path) -> Result<Vec<Tensor>, Failure> {
    let bad = |error: &std::io::Error| Failure::user(format!("failed to read {}", file.display())).because(error);
    let mut opened = File::open(file).map_err(|error| bad(&error))?;
    let length = opened.metadata().map_err(|error| bad(&error))?.len();
    let mut first = [0; LENGTH_BYTES as usize];
    if length < LENGTH_BYTES {
        return Err(of_header(file, &HeaderError::Short { found: length, needed: LENGTH_BYTES }));
    }
    opened.read_exact(&mut first).map_err(|error| bad(&error))?;
    let header = header_length(first, length).map_err(|error| of_header(file, &error))?;
    let mut bytes = Vec::new();
    opened.take(header).read_to_end(&mut bytes).map_err(|error| bad(&error))?;
    tensors(&bytes, length).map_err(|error| of_header(file, &error))
}

fn of_header(file: &Path, error: &HeaderError) -> Failure {
    let failure = Failure::user(format!("failed to count the weights in {}", file.display())).because(error);
    match error {
        HeaderError::Pointer => failure.hint("git lfs pull"),
        HeaderError::Short { .. } => failure.hint("fetch the file again: it was cut"),
        _ => failure,
    }
}

/// The files with weights, in the order of their names. Where a folder has the same weights twice, as some publish them, those in `transformers`' form count.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = fs::read_dir(folder).map_err(|error| Failure::user(format!("failed to list {}", folder.display())).because(&error))?;
    let mut files: Vec<PathBuf> =
        listed.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| name(path).ends_with(ENDS)).collect();
    files.sort();
    let is_model = |path: &PathBuf| name(path).starts_with("model");
    if files.iter().any(is_model) {
        files.retain(is_model);
    }
    Ok(files)
}

/// The parts that names such as `model-00001-of-00163.safetensors` promise must all be there.
fn check_complete(folder: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let parts = files.iter().filter_map(|path| part(&name(path)));
    let Some((_, of)) = parts.clone().next() else { return Ok(()) };
    let numbers: Vec<u64> = parts.filter(|(_, other)| *other == of).map(|(number, _)| number).collect();
    let missing = (1..=of.min(100_000)).find(|number| !numbers.contains(number));
    missing.map_or(Ok(()), |missing| {
        let found = numbers.len();
        Err(Failure::user(format!(
            "failed to count the weights in {}: part {missing} of {of} is missing ({found} are there)",
            folder.display()
        ))
        .hint("fetch the rest, or name config.json alone to plan without the weights"))
    })
}

/// Number and count of a part.
fn part(name: &str) -> Option<(u64, u64)> {
    let (before, after) = name.strip_suffix(ENDS)?.rsplit_once("-of-")?;
    Some((before.rsplit('-').next()?.parse().ok()?, after.parse().ok()?))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
