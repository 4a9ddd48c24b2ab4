//! A load from its description to its summary: warm-up first, then what is measured.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bystander_model::traffic::{Amount, Arrival, Load, Prompt, Summary};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::address::{Address, AddressError};
use crate::arrivals::Arrivals;
use crate::clock::{self, Ns, SECOND, ns};
use crate::discover::{DiscoverError, first_model};
use crate::hold;
use crate::measure::{Measure, Rows};
use crate::phase::{Engine, Part};
use crate::prompts::{PromptError, Prompts};
use crate::request::Requests;
use crate::summary::{Circumstances, summarise};

/// Descriptors that are not for connections.
const KEPT_FREE: u64 = 64;
/// Between two accounts of how far the load is.
const ACCOUNT: Ns = 2 * SECOND;

/// A load could not be put on a server at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The prompts cannot be used.
    #[error(transparent)]
    Prompts(#[from] PromptError),
    /// The variable with the key is not set, or holds what no head of a request can.
    #[error("read the key of the interface from the variable {name}")]
    Key {
        /// The variable.
        name: String,
    },
    /// No model is named, and the server names none.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// The results cannot be kept.
    #[error("keep the results in {}", folder.display())]
    Keep {
        /// Their folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The system refuses to tell what happens at sockets.
    #[error("wait for sockets: {0}")]
    Wait(Errno),
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Whether this is still the warm-up.
    pub warmup: bool,
    /// Requests that were started.
    pub sent: u64,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that are asked for; `None` where their number is not fixed.
    pub of: Option<u64>,
    /// Output tokens so far.
    pub tokens: u64,
}

/// The seed of a load in one block, from the load's and the block's: blocks differ, and all cells of a block are asked the same.
#[must_use]
pub fn effective_seed(seed: u64, block: u64) -> u64 {
    // Two seeds that are near must not give the same prompts in blocks that are near (SplitMix64, Steele, Lea and Flood 2014).
    let mixed = seed.wrapping_add(block.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Puts a load on a server and measures it. Histograms and one line a request are written into `folder`, which is made. Where `stop` is raised meanwhile
/// it ends with what it has, and says so in [`Summary::failure`].
///
/// # Errors
/// Where the load could not be put on it at all. A server that fails is a result: [`Summary::failure`].
pub fn run(load: &Load, folder: &Path, stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(Progress)) -> Result<Summary, RunError> {
    let keep = |source| RunError::Keep { folder: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(keep)?;
    let address = Address::parse(&load.url)?;
    let addresses = address.resolve()?;
    let key = load.api_key_env.as_deref().map(key_of).transpose()?;
    let prompts = Prompts::new(&load.prompt, load.seed, load.endpoint)?;
    let model = load.model.clone().map_or_else(|| first_model(&address, key.as_deref()), Ok)?;
    let requests = Requests::new(load, &model, &address, key.as_deref(), prompts);
    let mut engine = Engine::new(addresses, requests, ns(load.timeout_s), most_connections(), stop).map_err(RunError::Wait)?;
    let mut rows = Rows::create(folder).map_err(keep)?;
    let is_open = !matches!(load.arrival, Arrival::Closed { .. });
    let mut warmup = Measure::new(true, is_open);
    if let Some(amount) = load.warmup {
        part(load, amount, 1, &mut engine, &mut warmup, &mut rows, progress)?;
        hold::stop(folder, stop);
    }
    let mut measure = Measure::new(false, is_open);
    let before = clock::processor_time();
    // Who was stopped in the warm-up has sockets left that belong to it.
    if !warmup.cut {
        part(load, load.amount, 0, &mut engine, &mut measure, &mut rows, progress)?;
    }
    let processor = clock::processor_time().saturating_sub(before);
    rows.finish().map_err(keep)?;
    measure.write(folder).map_err(keep)?;
    let words = match &load.prompt {
        Prompt::Random { tokens, .. } => Some(*tokens),
        Prompt::File { .. } => None,
    };
    let circumstances = Circumstances {
        load,
        model,
        processor,
        words,
        asked_usage: engine.asks_usage(),
        repeats: engine.repeats(),
        folder: folder.to_owned(),
    };
    Ok(summarise(&measure, &warmup, &circumstances))
}

fn part(
    load: &Load,
    amount: Amount,
    salt: u64,
    engine: &mut Engine,
    measure: &mut Measure,
    rows: &mut Rows,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), RunError> {
    let warmup = salt != 0;
    let of = match amount {
        Amount::Requests(requests) => Some(requests),
        Amount::Seconds(_) => None,
    };
    let arrivals = Arrivals::new(load.arrival, amount, load.seed ^ salt, clock::now());
    let mut next = clock::now() + ACCOUNT;
    let look = |measure: &Measure, now: Ns| {
        if now >= next {
            next = now + ACCOUNT;
            let failed = measure.errors.values().sum();
            let (sent, completed, tokens) = (measure.sent, measure.completed, measure.tokens.output);
            progress(Progress { warmup, sent, completed, failed, of, tokens });
        }
    };
    engine.run(&mut Part { arrivals, measure, rows }, look).map_err(RunError::Wait)
}

fn key_of(name: &str) -> Result<String, RunError> {
    let key = std::env::var(name).ok().filter(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()));
    key.ok_or_else(|| RunError::Key { name: name.to_owned() })
}

/// How many connections there may be at a time: as many as the system gives this process at most.
fn most_connections() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    let most = current.map_or(u64::MAX, |limit| limit.saturating_sub(KEPT_FREE).max(1));
    usize::try_from(most).unwrap_or(usize::MAX)
}
