//! What can be wrong with a pack, or with the engine it is for.

use std::path::PathBuf;

use bystander_model::probe::syntax::SyntaxError;
use thiserror::Error;

use crate::interpreter::InterpreterError;

/// Why a pack gives no probes.
#[derive(Debug, Error)]
pub enum PackError {
    /// There is no such pack.
    #[error("find the probe set `{name}`: there are {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Those that there are.
        known: Vec<&'static str>,
    },
    /// The data of a pack does not read; only a change of this program can do that.
    #[error("read the probe set `{pack}`")]
    Data {
        /// The pack.
        pack: String,
        /// What does not read.
        #[source]
        source: Box<DataFault>,
    },
    /// The interpreter gave no answer.
    #[error("ask which {engine} is installed")]
    Interpreter {
        /// The engine.
        engine: String,
        /// Why not.
        #[source]
        source: Box<InterpreterError>,
    },
    /// The engine is not there.
    #[error("find {engine} for the probe set `{pack}`: `{}` knows no module `{package}`", python.display())]
    NotInstalled {
        /// The pack.
        pack: String,
        /// The engine.
        engine: String,
        /// Its top-level package.
        package: String,
        /// The interpreter that was asked.
        python: PathBuf,
    },
    /// No place of any probe is there.
    #[error(
        "bind the probe set `{pack}` to {engine} {}in `{}`: none of its places is there; looked for {}",
        version.as_ref().map(|version| format!("{version} ")).unwrap_or_default(), folder.display(), looked_for.join(", ")
    )]
    NothingBound {
        /// The pack.
        pack: String,
        /// The engine.
        engine: String,
        /// The version that is installed; `None` where no metadata says one.
        version: Option<String>,
        /// The engine's package.
        folder: PathBuf,
        /// The places.
        looked_for: Box<[String]>,
    },
}

/// What does not read in the data of a pack.
#[derive(Debug, Error)]
pub enum DataFault {
    /// The file is not of the form of a pack.
    #[error("its file")]
    File(#[source] Box<toml::de::Error>),
    /// A place does not parse.
    #[error("the place `{text}` of `{probe}`")]
    Place {
        /// The probe.
        probe: String,
        /// The place.
        text: String,
        /// What does not parse.
        #[source]
        source: Box<SyntaxError>,
    },
    /// A range of releases does not parse.
    #[error("the releases `{text}` of `{probe}`: `{part}`")]
    Range {
        /// The probe.
        probe: String,
        /// The range.
        text: String,
        /// The part that does not fit.
        part: String,
    },
    /// A probe has no place.
    #[error("the places of `{probe}`: there is none")]
    NoPlace {
        /// The probe.
        probe: String,
    },
}
