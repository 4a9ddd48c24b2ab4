//! The weights in a folder: of each file the header is read, and nothing else.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bystander_memory::plan::checkpoint::{Checkpoint, HeaderError, LENGTH_BYTES, Tensor, header_length, tensors};
use serde::Deserialize;

use crate::failure::Failure;

/// Threads that read headers: more would wait for the disk.
const MOST_THREADS: usize = 8;
/// Where a checkpoint says which file holds which tensor.
const INDEX: &str = "model.safetensors.index.json";
/// The largest index that is read.
const MOST_INDEX: u64 = 64 << 20;
/// The end of the names of files with weights.
const ENDS: &str = ".safetensors";

/// Reads the headers of all weights in a folder; `None` where there are no weights.
pub(super) fn read(folder: &Path) -> Result<Option<Checkpoint>, Failure> {
    let files = files(folder)?;
    if files.is_empty() {
        // An index without any of its files is a checkpoint that was not fetched, not a folder without one.
        return check_index(folder, &files).map(|()| None);
    }
    check_complete(folder, &files)?;
    // Parsing is most of the work where a checkpoint has many experts: as many threads as there are cores, up to a few.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_THREADS);
    let read = std::thread::scope(|scope| {
        let started: Vec<_> = files.chunks(files.len().div_ceil(threads)).map(|part| scope.spawn(|| read_all(part))).collect();
        started
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Some(Checkpoint { tensors: read.into_iter().flatten().collect(), is_read: true }))
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
    let mut files: Vec<PathBuf> = listed.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_of_model(&name(path))).collect();
    files.sort();
    let is_model = |path: &PathBuf| name(path).starts_with("model");
    if files.iter().any(is_model) {
        files.retain(is_model);
    }
    Ok(files)
}

/// Whether a file holds weights of the model itself: those of an adapter that was trained for it are loaded beside it.
fn is_of_model(name: &str) -> bool {
    name.ends_with(ENDS) && !name.starts_with("adapter_")
}

/// The parts that names such as `model-00001-of-00163.safetensors` promise must all be there.
fn check_complete(folder: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let parts = files.iter().filter_map(|path| part(&name(path)));
    let Some((_, of)) = parts.clone().next() else { return check_index(folder, files) };
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

/// Where names of parts promise nothing, the index beside them does.
fn check_index(folder: &Path, files: &[PathBuf]) -> Result<(), Failure> {
    let file = folder.join(INDEX);
    let Ok(opened) = File::open(&file) else { return Ok(()) };
    let bad = |error: &(dyn std::error::Error + 'static)| Failure::user(format!("failed to read {}", file.display())).because(error);
    let mut text = String::new();
    opened.take(MOST_INDEX).read_to_string(&mut text).map_err(|error| bad(&error))?;
    let index: Index = serde_json::from_str(&text).map_err(|error| bad(&error))?;
    let missing = index.weight_map.values().find(|named| !files.iter().any(|path| name(path) == **named));
    missing.map_or(Ok(()), |missing| {
        Err(Failure::user(format!("failed to count the weights in {}: {INDEX} names {missing}, which is not there", folder.display()))
            .hint("fetch the rest, or name config.json alone to plan without the weights"))
    })
}

/// Which file holds which tensor.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// Number and count of a part.
fn part(name: &str) -> Option<(u64, u64)> {
    let (before, after) = name.strip_suffix(ENDS)?.rsplit_once("-of-")?;
    Some((before.rsplit('-').next()?.parse().ok()?, after.parse().ok()?))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
