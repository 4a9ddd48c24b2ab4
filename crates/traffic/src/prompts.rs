//! What is asked: random words with a seed, or the lines of a file.
//!
//! A prompt is a function of its number, so that a load can be had again, and no two random ones begin alike: a prefix cache must not make a server look
//! faster than it is.

use std::fs;
use std::path::{Path, PathBuf};

use bystander_model::traffic::{Endpoint, Prompt};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::words::WORDS;

/// The longest file of prompts, in bytes.
const LONGEST_FILE: u64 = 1 << 30;

/// A file of prompts cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// It cannot be read.
    #[error("read the prompts in {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is too long to be kept in memory.
    #[error("take the prompts in {}: it is longer than 1 GiB", path.display())]
    Long {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing in it.
    #[error("find a prompt in {}", path.display())]
    None {
        /// The file.
        path: PathBuf,
    },
    /// A line is no prompt.
    #[error("take line {line} of {} as a prompt: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Says what is wrong with a file of prompts.
///
/// # Errors
/// Where a load could not use it.
pub fn check(path: &Path, endpoint: Endpoint) -> Result<(), PromptError> {
    lines(path, endpoint).map(drop)
}

/// Where prompts come from.
#[derive(Debug)]
pub(crate) enum Prompts {
    Random { words: u32, seed: u64, endpoint: Endpoint },
    Lines(Vec<String>),
}

impl Prompts {
    pub(crate) fn new(prompt: &Prompt, seed: u64, endpoint: Endpoint) -> Result<Self, PromptError> {
        match prompt {
            Prompt::Random { tokens, seed: own } => Ok(Self::Random { words: *tokens, seed: own.unwrap_or(seed), endpoint }),
            Prompt::File { path } => lines(path, endpoint).map(Self::Lines),
        }
    }

    /// How many different ones there are; `None` for no end of them.
    pub(crate) fn len(&self) -> Option<usize> {
        match self {
            Self::Random { .. } => None,
            Self::Lines(lines) => Some(lines.len()),
        }
    }

    /// The part of a request's body that holds a prompt, such as `"prompt":"word word"`.
    pub(crate) fn fragment(&self, number: u64) -> String {
        match self {
            Self::Random { words, seed, endpoint } => fragment(&text(*words, *seed, number), *endpoint),
            Self::Lines(lines) => {
                let index = number % u64::try_from(lines.len()).unwrap_or(1).max(1);
                lines.get(usize::try_from(index).unwrap_or_default()).cloned().unwrap_or_default()
            }
        }
    }
}

/// So many random words. The words are common and short, so that most tokenizers take most of them for one token each.
fn text(words: u32, seed: u64, number: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut text = String::with_capacity(words as usize * 6);
    for index in 0..words {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(WORDS[random.random_range(0..WORDS.len())]);
    }
    text
}

fn fragment(text: &str, endpoint: Endpoint) -> String {
    let text = Value::from(text);
    match endpoint {
        Endpoint::Chat => format!(r#""messages":[{{"role":"user","content":{text}}}]"#),
        Endpoint::Completions => format!(r#""prompt":{text}"#),
    }
}

fn lines(path: &Path, endpoint: Endpoint) -> Result<Vec<String>, PromptError> {
    let read = |source| PromptError::Read { path: path.to_owned(), source };
    if fs::metadata(path).map_err(read)?.len() > LONGEST_FILE {
        return Err(PromptError::Long { path: path.to_owned() });
    }
    let text = fs::read_to_string(path).map_err(read)?;
    let meant = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let is_json = meant().next().is_some_and(|(_, line)| line.trim_start().starts_with('{'));
    let one = |(index, line): (usize, &str)| {
        let made = if is_json { of_json(line, endpoint) } else { Ok(fragment(line, endpoint)) };
        made.map_err(|why| PromptError::Line { path: path.to_owned(), line: index + 1, why })
    };
    let found = meant().map(one).collect::<Result<Vec<String>, _>>()?;
    if found.is_empty() { Err(PromptError::None { path: path.to_owned() }) } else { Ok(found) }
}

fn of_json(line: &str, endpoint: Endpoint) -> Result<String, &'static str> {
    let object: Value = serde_json::from_str(line).map_err(|_: serde_json::Error| "it is no JSON object, and the first line is one")?;
    match (object.get("messages"), object.get("prompt"), endpoint) {
        (Some(messages @ Value::Array(list)), _, Endpoint::Chat) if !list.is_empty() => Ok(format!(r#""messages":{messages}"#)),
        (Some(_), None, Endpoint::Chat) => Err("`messages` is no list with something in it"),
        (Some(_), None, Endpoint::Completions) => Err("`messages` needs endpoint = \"chat\""),
        (_, Some(Value::String(text)), _) => Ok(fragment(text, endpoint)),
        (_, Some(_), _) => Err("`prompt` is no string"),
        (_, None, _) => Err("it has neither `prompt` nor `messages`"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bystander_model::traffic::{Endpoint, Prompt};

    use super::{PromptError, Prompts, text};

    #[test]
    fn a_random_prompt_is_a_function_of_seed_and_number_and_no_two_begin_alike() {
        assert_eq!(text(64, 1, 5), text(64, 1, 5));
        assert_ne!(text(64, 1, 5), text(64, 2, 5));
        assert_eq!(text(64, 1, 5).split(' ').count(), 64);
        let beginnings: BTreeSet<String> = (0..5000).map(|number| text(8, 1, number)).collect();
        assert_eq!(beginnings.len(), 5000);
    }

    #[test]
    fn a_seed_of_its_own_holds_against_the_load_s() {
        let prompt = |seed| Prompt::Random { tokens: 4, seed };
        let made = |seed, load| Prompts::new(&prompt(seed), load, Endpoint::Completions).expect("prompts").fragment(0);
        assert_eq!(made(Some(7), 1), made(Some(7), 2));
        assert_ne!(made(None, 1), made(None, 2));
    }

    fn of_file(content: &str, endpoint: Endpoint) -> Result<Vec<String>, PromptError> {
        let file = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(file.path(), content).expect("written");
        let prompts = Prompts::new(&Prompt::File { path: file.path().to_owned() }, 0, endpoint)?;
        let len = prompts.len().expect("an end") as u64;
        assert_eq!(prompts.fragment(len), prompts.fragment(0), "they come in turn");
        Ok((0..len).map(|number| prompts.fragment(number)).collect())
    }

    #[test]
    fn files_hold_objects_or_plain_lines() {
        let plain = of_file("say \"hi\"\n\n  indented\n", Endpoint::Completions).expect("plain");
        assert_eq!(plain, [r#""prompt":"say \"hi\"""#, r#""prompt":"  indented""#]);
        let json = "{\"prompt\": \"a\"}\n{\"messages\": [{\"role\": \"system\", \"content\": \"b\"}]}\n";
        let chat = of_file(json, Endpoint::Chat).expect("chat");
        assert_eq!(chat, [r#""messages":[{"role":"user","content":"a"}]"#, r#""messages":[{"role":"system","content":"b"}]"#]);
    }

    #[test]
    fn a_line_that_is_no_prompt_is_named() {
        for (content, line) in [
            ("{\"prompt\": \"a\"}\nplain\n", 2),
            ("{\"prompt\": 3}", 1),
            ("\n{\"other\": 3}", 2),
            ("{\"messages\": []}", 1),
            ("{\"prompt\": \"a\"", 1),
        ] {
            let error = of_file(content, Endpoint::Chat).expect_err(content);
            assert!(matches!(error, PromptError::Line { line: at, .. } if at == line), "{content}: {error}");
        }
        assert!(matches!(of_file("{\"messages\": [1]}", Endpoint::Completions), Err(PromptError::Line { .. })));
        assert!(matches!(of_file(" \n\n", Endpoint::Chat), Err(PromptError::None { .. })));
        let none = Prompts::new(&Prompt::File { path: "/nowhere/at/all".into() }, 0, Endpoint::Chat);
        assert!(matches!(none, Err(PromptError::Read { .. })));
    }
}
