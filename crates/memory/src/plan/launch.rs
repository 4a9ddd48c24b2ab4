//! A launch command as it is typed or pasted, told to the setup that it asks for.

mod flags;
mod speculative;

use std::collections::BTreeMap;

use thiserror::Error;

use super::setup::{Engine, Setup};
use crate::version::Release;
use flags::Meaning;

/// A launch command that cannot be read; the text fits after "failed to".
#[derive(Debug, Error, PartialEq, Eq)]
pub enum LaunchError {
    /// No launcher of an engine is in it.
    #[error(
        "find an engine in the command: it starts none of `sglang.launch_server`, `sglang serve`, `vllm serve`, `vllm.entrypoints.openai.api_server`"
    )]
    NoEngine,
    /// An option stands at the end without its value.
    #[error("read the command: {flag} has no value")]
    NoValue {
        /// The option.
        flag: String,
    },
    /// An option has a value that it cannot have.
    #[error("read the command: {flag} cannot be {value:?}, it is {expected}")]
    Value {
        /// The option.
        flag: String,
        /// What it was given.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A quotation mark is never closed.
    #[error("read the command: a quotation mark is never closed")]
    Quote,
}

/// What a launch command asks for.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The engine that it starts.
    pub engine: Engine,
    /// The release that the tag of a container's image names.
    pub release: Option<Release>,
    /// The model as it is named.
    pub model: Option<String>,
    /// The draft model as it is named.
    pub draft: Option<String>,
    /// What it asks for.
    pub setup: Setup,
    /// How many tokens ahead, by which method; the draft's shape is filled in by who can read it.
    pub speculative: Option<Speculative>,
    /// Options that no rule here knows, though they may matter.
    pub unknown: Vec<String>,
    /// Words of the environment in front of the command.
    pub environment: BTreeMap<String, String>,
}

/// Speculative decoding as a command names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Speculative {
    /// The method, in upper case for SGLang and lower case for vLLM.
    pub method: String,
    /// Steps of the draft.
    pub steps: Option<u64>,
    /// Branches of each step.
    pub branches: Option<u64>,
    /// Tokens that are checked at once.
    pub tokens: Option<u64>,
}

impl Launch {
    /// Reads the words of a command. A single word is taken apart as a shell would.
    ///
    /// # Errors
    ///
    /// No engine is in it, or an option lacks its value or has one that it cannot have.
    pub fn parse(words: &[String]) -> Result<Self, LaunchError> {
        let split;
        let words = if let [one] = words {
            split = shell_words(one)?;
            &split
        } else {
            words
        };
        let (engine, after) = launcher(words).ok_or(LaunchError::NoEngine)?;
        let (before, options) = words.split_at(after);
        // What stands behind the command in a line of a shell is another one, or where its output goes.
        let options = options.split(|word| ends_command(word)).next().unwrap_or_default();
        let environment: BTreeMap<String, String> =
            before.iter().filter_map(|word| assignment(word.strip_prefix("--env=").unwrap_or(word))).collect();
        let mut launch = Self {
            engine,
            release: release(engine, before),
            model: None,
            draft: None,
            setup: Setup::default(),
            speculative: None,
            unknown: Vec::new(),
            environment,
        };
        launch.take_environment();
        launch.take_options(options)?;
        Ok(launch)
    }

    fn take_environment(&mut self) {
        let is_on = |name: &str| {
            self.environment.get(name).is_some_and(|value| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
        };
        let longer = is_on("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN") || is_on("VLLM_ALLOW_LONG_MAX_MODEL_LEN");
        let pcie = is_on("SGLANG_ENABLE_PCIE_IPC_ALLREDUCE") || is_on("VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC");
        self.setup.longer_context_allowed = longer;
        self.setup.pcie_ipc = pcie;
        self.setup.pcie_ipc_numbers = self
            .environment
            .get("SGLANG_PCIE_IPC_MAX_NUMEL")
            .and_then(|numbers| numbers.parse().ok())
            .filter(|numbers| (1..1 << 40).contains(numbers));
        self.setup.symmetric_gib = self.environment.get("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE").and_then(|gib| gib.parse().ok());
        if let Some(kind) = self.environment.get("SGLANG_MAMBA_SSM_DTYPE") {
            self.setup.state_bits = bits(kind);
        }
    }

    fn take_options(&mut self, words: &[String]) -> Result<(), LaunchError> {
        let mut at = 0;
        let mut parts = serde_json::Map::new();
        while let Some(word) = words.get(at) {
            at += 1;
            if word.trim().is_empty() || word.trim() == "\\" {
                continue;
            }
            let Some((flag, inline)) = option(word) else {
                if self.model.is_none() {
                    self.model = Some(word.clone());
                }
                continue;
            };
            let next = words.get(at).filter(|next| !is_option(next) && next.trim() != "\\");
            if let Some(key) = flag.strip_prefix("--speculative-config.").filter(|_| self.engine == Engine::Vllm) {
                let value = inline.or_else(|| next.cloned()).ok_or_else(|| LaunchError::NoValue { flag: flag.clone() })?;
                at += usize::from(!word.contains('='));
                parts.insert(key.replace('-', "_"), speculative::value(&value));
                continue;
            }
            let Some(meaning) = Meaning::of(self.engine, &flag) else {
                self.note_unknown(&flag);
                at += usize::from(inline.is_none() && next.is_some());
                continue;
            };
            if !meaning.takes_value() {
                // A switch may have a truth value written behind it.
                let told = inline.or_else(|| next.filter(|next| matches!(next.to_lowercase().as_str(), "true" | "false")).cloned());
                at += usize::from(told.is_some() && !word.contains('='));
                self.set(&flag, meaning, if told.is_some_and(|told| told.eq_ignore_ascii_case("false")) { "false" } else { "true" })?;
                continue;
            }
            let value = inline.or_else(|| next.cloned()).or_else(|| words.get(at).filter(|next| is_number(next)).cloned());
            let value = value.ok_or_else(|| LaunchError::NoValue { flag: flag.clone() })?;
            at += usize::from(!word.contains('='));
            self.set(&flag, meaning, &value)?;
        }
        if !parts.is_empty() {
            self.set("--speculative-config", Meaning::SpeculativeConfig, &serde_json::Value::Object(parts).to_string())?;
        }
        Ok(())
    }

    fn note_unknown(&mut self, flag: &str) {
        if !flags::is_without_part(flag) && !self.unknown.iter().any(|known| known == flag) && self.unknown.len() < 20 {
            self.unknown.push(flag.to_owned());
        }
    }
}

/// Bits of a kind of number by its name.
fn bits(kind: &str) -> Option<u64> {
    super::dtype::Dtype::of_torch(kind).map(super::dtype::Dtype::bits)
}

/// Where the launcher of an engine ends.
fn launcher(words: &[String]) -> Option<(Engine, usize)> {
    for (at, word) in words.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word);
        let next = words.get(at + 1).map(String::as_str);
        let found = match (name, next) {
            ("sglang.launch_server" | "launch_server.py", _) => Some((Engine::Sglang, at + 1)),
            ("sglang", Some("serve")) | ("sglang.cli.main", Some("serve")) => Some((Engine::Sglang, at + 2)),
            ("vllm.entrypoints.openai.api_server" | "vllm.entrypoints.api_server" | "vllm.entrypoints.launchers", _) => {
                Some((Engine::Vllm, at + 1))
            }
            ("vllm" | "vllm.entrypoints.cli.main", Some("serve")) => Some((Engine::Vllm, at + 2)),
            // The official image starts the server by itself; what follows its name are options.
            _ if name.starts_with("vllm-openai") => Some((Engine::Vllm, at + 1)),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The release in the tag of an engine's own image, such as `lmsysorg/sglang:v0.5.9-cu129` or `vllm/vllm-openai:v0.11.0`.
fn release(engine: Engine, words: &[String]) -> Option<Release> {
    words.iter().find_map(|word| {
        let (image, tag) = word.rsplit('/').next()?.split_once(':')?;
        let is_ours = match engine {
            Engine::Sglang => image == "sglang",
            Engine::Vllm => image == "vllm" || image.starts_with("vllm-openai"),
        };
        Release::parse(tag).filter(|_| is_ours)
    })
}

/// An option and what is written behind an equals sign; underscores count as hyphens.
fn option(word: &str) -> Option<(String, Option<String>)> {
    if !is_option(word) {
        return None;
    }
    let (flag, value) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value.to_owned())));
    Some((flag.replace('_', "-"), value))
}

fn is_option(word: &str) -> bool {
    word.starts_with('-') && word.len() > 1 && !is_number(word)
}

fn is_number(word: &str) -> bool {
    word.parse::<f64>().is_ok()
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// Whether a shell reads the command up to here.
fn ends_command(word: &str) -> bool {
    matches!(word, ";" | "&" | "&&" | "|" | "||" | ">" | ">>" | "2>" | "2>>" | "2>&1" | "&>" | "<")
}

/// Takes a line apart as a shell does: blanks, both quotation marks, backslashes, comments.
fn shell_words(line: &str) -> Result<Vec<String>, LaunchError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('"') | None, '\\') => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '#') if word.is_none() => drop(characters.by_ref().find(|c| *c == '\n')),
            (None, ';') => {
                words.extend(word.take());
                words.push(";".to_owned());
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(LaunchError::Quote);
    }
    words.extend(word);
    Ok(words)
}
