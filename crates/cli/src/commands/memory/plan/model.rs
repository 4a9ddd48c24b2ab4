//! A model on disk: its configuration, and its weights where they lie beside it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bystander_memory::plan::checkpoint::Checkpoint;
use bystander_memory::plan::config::Config;
use bystander_memory::plan::shape::Shape;
use bystander_memory::plan::tensors::worked_out;

use super::{failed, weights};
use crate::failure::Failure;

/// The largest `config.json` that is read.
const MOST_CONFIG: u64 = 32 << 20;
/// Where ModelOpt writes how a checkpoint is quantised.
const MODELOPT: &str = "hf_quant_config.json";

/// A model.
pub(super) struct Model {
    pub(super) shape: Shape,
    pub(super) checkpoint: Option<Checkpoint>,
    /// What was read, in lines.
    pub(super) read: Vec<String>,
}

/// Reads a model: a folder, or a configuration alone.
pub(super) fn read(named: &Path) -> Result<Model, Failure> {
    let is_folder = named.is_dir();
    let file = if is_folder { named.join("config.json") } else { named.to_path_buf() };
    let mut config = Config::parse(&text(&file)?).map_err(|error| failed(&error))?;
    let mut read = vec![file.display().to_string()];
    if is_folder {
        let beside = named.join(MODELOPT);
        if beside.is_file() {
            config.add_modelopt(&text(&beside)?).map_err(|error| failed(&error))?;
            read.push(beside.display().to_string());
        }
    }
    let shape = Shape::read(&config).map_err(|error| failed(&error))?;
    let mut checkpoint = if is_folder { weights::read(named)? } else { None };
    match &checkpoint {
        Some(found) => read.push(format!("{}: headers of {} tensors", named.display(), found.count())),
        None => {
            checkpoint = worked_out(&config, &shape).map_err(|error| failed(&error))?;
            let how = if checkpoint.is_some() { "their sizes are worked out from the configuration" } else { "their sizes are unknown" };
            read.push(format!("no weights at hand: {how}"));
        }
    }
    Ok(Model { shape, checkpoint, read })
}

fn text(file: &Path) -> Result<String, Failure> {
    let bad = |error: &std::io::Error| {
        let failure = Failure::user(format!("failed to read {}", file.display())).because(error);
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                failure.hint("MODEL is a folder with config.json, or a config.json; a name on a hub is not looked up")
            }
            _ => failure,
        }
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|error| bad(&error))?;
    opened.take(MOST_CONFIG + 1).read_to_end(&mut bytes).map_err(|error| bad(&error))?;
    if bytes.len() as u64 > MOST_CONFIG {
        return Err(Failure::user(format!("failed to read {}: it is no configuration, it has more than 32 MiB", file.display())));
    }
    String::from_utf8(bytes)
        .map_err(|error| Failure::user(format!("failed to read {} as text", file.display())).because(&error.utf8_error()))
}

/// The folder or file that is meant: what was typed, else what the command names.
pub(super) fn named(typed: Option<&PathBuf>, command: Option<&str>) -> Result<PathBuf, Failure> {
    let named = typed.cloned().or_else(|| command.map(PathBuf::from));
    named.ok_or_else(|| {
        Failure::user("failed to plan: no model is named").hint("bystander memory plan FOLDER, or a command after `--` that names one")
    })
}
