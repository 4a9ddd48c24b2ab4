//! What the command line of a Python hides from an overlay: the environment (`-I`, `-E`, `env -i`), or `site` (`-S`).

use std::ffi::OsStr;
use std::path::Path;

use crate::machine;

/// What a command hides from an overlay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hidden {
    /// The option by which the environment is not looked at.
    pub environment: Option<&'static str>,
    /// Whether `site` is not run, and so neither `sitecustomize` nor `.pth` files.
    pub site: bool,
    /// Whether the command is a Python at all, as far as its words tell.
    pub is_python: bool,
}

/// Options of `env` that take the next word as their value.
const ENV_WITH_VALUE: [&str; 4] = ["-u", "-C", "--unset", "--chdir"];

/// Reads the words of a command; what a shell or a launcher does later cannot be seen in them.
#[must_use]
pub fn hidden_from<S: AsRef<OsStr>>(command: &[S]) -> Hidden {
    let words: Vec<&str> = command.iter().map(|word| word.as_ref().to_str().unwrap_or("")).collect();
    let (words, emptied) = behind_env(&words);
    let Some((program, arguments)) = words.split_first().filter(|(program, _)| machine::is_python(Path::new(program))) else {
        return Hidden::default();
    };
    let _ = program;
    let mut hidden = Hidden { environment: emptied.then_some("env -i"), site: false, is_python: true };
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1;
        if *word == "--" {
            break;
        }
        if word.starts_with("--") {
            at += usize::from(*word == "--check-hash-based-pycs");
            continue;
        }
        for (position, letter) in word.char_indices().skip(1) {
            match letter {
                'I' => hidden.environment = Some("-I"),
                'E' => hidden.environment = hidden.environment.or(Some("-E")),
                'S' => hidden.site = true,
                'c' | 'm' => return hidden,
                'W' | 'X' => {
                    at += usize::from(position + 1 == word.len());
                    break;
                }
                _ => {}
            }
        }
    }
    hidden
}

/// The words behind `env`, and whether it empties the environment.
fn behind_env<'a, 'b>(words: &'a [&'b str]) -> (&'a [&'b str], bool) {
    let is_env = words.first().is_some_and(|word| Path::new(word).file_name().is_some_and(|name| name == "env"));
    if !is_env {
        return (words, false);
    }
    let mut emptied = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match *word {
            "-i" | "-" | "--ignore-environment" => emptied = true,
            word if ENV_WITH_VALUE.contains(&word) => at += 1,
            word if word.starts_with('-') || word.contains('=') => {}
            _ => break,
        }
        at += 1;
    }
    (words.get(at..).unwrap_or_default(), emptied)
}

#[cfg(test)]
mod tests {
    use super::{Hidden, hidden_from};

    fn of(command: &str) -> (Option<&'static str>, bool) {
        let Hidden { environment, site, is_python } = hidden_from(&command.split(' ').collect::<Vec<_>>());
        assert!(is_python, "{command}");
        (environment, site)
    }

    #[test]
    fn options_before_the_script_are_read() {
        for (command, expected) in [
            ("python3 x.py -I -S", (None, false)),
            ("/usr/bin/python3.11 -I x.py", (Some("-I"), false)),
            ("python -uE -m pkg", (Some("-E"), false)),
            ("python -IS x.py", (Some("-I"), true)),
            ("python3 -W error -X dev -S -c pass", (None, true)),
            ("python3 -Werror -Xdev -S -", (None, true)),
            ("python3 -c -S", (None, false)),
            ("python3 -mI x", (None, false)),
            ("python3 --check-hash-based-pycs always -E x.py", (Some("-E"), false)),
            ("python3 -- -S", (None, false)),
            ("env -i PATH=/bin python3 x.py", (Some("env -i"), false)),
            ("/usr/bin/env -u HOME A=1 python3 -S x.py", (None, true)),
        ] {
            assert_eq!(of(command), expected, "{command}");
        }
    }

    #[test]
    fn other_programs_hide_nothing_that_can_be_seen() {
        for command in ["sh -c python3", "uvicorn -I", "env", "", "torchrun -E x.py"] {
            assert_eq!(hidden_from(&command.split(' ').collect::<Vec<_>>()), Hidden::default(), "{command}");
        }
        assert_eq!(hidden_from::<&str>(&[]), Hidden::default());
    }
}
