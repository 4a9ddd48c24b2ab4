//! The experiment file without its secrets: what looks secret by its name is hashed as in the record, and comments are left out, since nobody knows
//! what stands in them.

use std::fs;
use std::path::Path;

use bystander_host::secrets::{self, Masker, looks_secret};
use bystander_store::output::sha256_hex;
use toml::{Table, Value};

/// The text of the file that was run, masked; or why there is none.
pub(super) fn masked(file: &Path, sha256: &str, masker: &Masker) -> Result<String, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("it cannot be read any more ({error})"))?;
    if sha256_hex(text.as_bytes()) != sha256 {
        return Err("it changed since the run started".to_owned());
    }
    mask_text(&text, masker)
}

/// The text of an experiment, masked; or why there is none.
pub(in crate::commands) fn mask_text(text: &str, masker: &Masker) -> Result<String, String> {
    let table: Table = text.parse().map_err(|error| format!("it cannot be read ({error})"))?;
    let mut known = Vec::new();
    collect(&table, &mut known);
    known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut value = Value::Table(table);
    mask(&mut value, "", &known, masker);
    toml::to_string_pretty(&value).map_err(|error| format!("it cannot be written ({error})"))
}

/// Every secret value that is long enough to be looked for elsewhere.
fn collect(table: &Table, known: &mut Vec<String>) {
    for (name, value) in table {
        let pairs = value.as_str().map(|text| (name.as_str(), text));
        known.extend(secrets::values(&words(value), pairs.into_iter()));
        match value {
            Value::Table(table) => collect(table, known),
            Value::Array(items) => items.iter().for_each(|item| match item {
                Value::Table(table) => collect(table, known),
                item => known.extend(secrets::values(&words(item), std::iter::empty())),
            }),
            _ => {}
        }
    }
}

/// The words of a command.
fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn mask(value: &mut Value, name: &str, known: &[String], masker: &Masker) {
    match value {
        Value::String(text) if !name.is_empty() && looks_secret(name) => *text = masker.mask(text),
        Value::String(text) => {
            for secret in known.iter().filter(|secret| !secret.is_empty()) {
                if text.contains(secret.as_str()) {
                    *text = text.replace(secret.as_str(), &masker.mask(secret));
                }
            }
            *text = masker.addresses(text);
        }
        Value::Array(items) => {
            if items.iter().all(Value::is_str) {
                let masked = masker.command(&words(&Value::Array(items.clone())));
                items.iter_mut().zip(masked).for_each(|(item, word)| *item = Value::String(word));
            }
            items.iter_mut().for_each(|item| mask(item, name, known, masker));
        }
        Value::Table(table) => table.iter_mut().for_each(|(name, value)| mask(value, name, known, masker)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use bystander_host::secrets::Masker;
    use bystander_store::output::sha256_hex;

    use super::masked;

    #[test]
    fn no_secret_of_a_file_is_left_and_everything_else_is() {
        let dir = tempfile::tempdir().expect("temporary folder");
        let file = dir.path().join("x.toml");
        let text = r#"
# my key is sk-comment
question = "does sk-variable matter?"
[program]
command = ["serve", "--api-key", "sk-command", "--port", "{port}", "--password=abc"]
env = { HF_TOKEN = "sk-variable", DB_PASSWORD = "x", MODE = "fast", DB_URL = "postgres://u:sk-url@db" }
[hooks]
setup = [["login", "--token", "sk-hook"], ["echo", "sk-command"]]
[[edits]]
name = "e"
find = "key = 'sk-variable'"
"#;
        std::fs::write(&file, text).expect("written");
        let masker = Masker::forgotten().expect("random bytes");
        let shown = masked(&file, &sha256_hex(text.as_bytes()), &masker).expect("masked");
        assert!(!shown.contains("sk-") && !shown.contains("abc\"") && !shown.contains("\"x\""), "{shown}");
        for kept in ["fast", "{port}", "serve", "login", "find = \"key = '<hidden:"] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        assert!(shown.parse::<toml::Table>().is_ok(), "{shown}");
        assert!(masked(&file, "another", &masker).is_err_and(|why| why.contains("changed")));
        assert!(masked(&dir.path().join("none"), "", &masker).is_err_and(|why| why.contains("cannot be read")));
    }
}
