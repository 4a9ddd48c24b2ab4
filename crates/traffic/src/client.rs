//! The process of a load: reads the load from a file, puts it on the server, says what came of it.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bystander_model::traffic::{Load, Summary};

use crate::run::{Progress, RunError, run};

/// The file in the folder of results that holds the summary once the load is over.
pub const SUMMARY: &str = "summary.json";
/// The file in the folder of results that holds the load.
pub const LOAD: &str = "load.json";

/// The process of a load could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The load cannot be read.
    #[error("read the load in {}", path.display())]
    Load {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It cannot be put on the server.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The summary cannot be written.
    #[error("write the summary to {}", path.display())]
    Summary {
        /// Its file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Puts the load that lies in a folder on its server, and leaves the summary beside it. Where `stop` is raised meanwhile, that is of what there was by then.
///
/// # Errors
/// Where that could not be done. A server that fails is a result: [`Summary::failure`].
pub fn client(folder: &Path, stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(Progress)) -> Result<Summary, ClientError> {
    let path = folder.join(LOAD);
    let read = |source| ClientError::Load { path: path.clone(), source };
    let load: Load = serde_json::from_reader(BufReader::new(File::open(&path).map_err(read)?)).map_err(|error| read(error.into()))?;
    let summary = run(&load, folder, stop, progress)?;
    let path = folder.join(SUMMARY);
    let kept = |source| ClientError::Summary { path: path.clone(), source };
    let text = serde_json::to_vec(&summary).map_err(|error| kept(error.into()))?;
    // A reader sees all of it or nothing.
    let unfinished = folder.join(".summary");
    std::fs::write(&unfinished, text).and_then(|()| std::fs::rename(&unfinished, &path)).map_err(kept)?;
    Ok(summary)
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { warmup, sent, completed, failed, of, tokens } = self;
        let of = of.map_or_else(String::new, |of| format!(" of {of}"));
        let part = if *warmup { "warm-up: " } else { "" };
        write!(f, "{part}{sent}{of} requests sent, {completed} completed, {failed} failed, {tokens} tokens")
    }
}
