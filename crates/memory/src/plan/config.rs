//! `config.json` as it was written: which fields it has, under which names, and what is wrong with them.

use serde_json::{Map, Value};
use thiserror::Error;

/// What a number of a configuration may be at most; anything above is a mistake, and could not be computed with.
const MOST: u64 = 1 << 26;
/// Where the language model of a multimodal model lies.
const NESTED: [&str; 6] = ["text_config", "llm_config", "language_config", "language_model", "llm", "text_model_config"];

/// A configuration that cannot be used; the text fits after "failed to".
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It is no JSON.
    #[error("read {name} as JSON")]
    NotJson {
        /// Its name.
        name: &'static str,
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
    /// It is JSON, and no object.
    #[error("read {name}: it is JSON, but no object with fields")]
    NotAnObject {
        /// Its name.
        name: &'static str,
    },
    /// A field that everything rests on is not there.
    #[error("plan without `{field}` in config.json")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field holds what it cannot hold.
    #[error("use `{field}` of config.json: {found} is not {expected}")]
    Wrong {
        /// The field.
        field: String,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Two fields contradict each other.
    #[error("plan: in config.json, {first} contradicts {second}")]
    Contradiction {
        /// One field and what it says.
        first: String,
        /// The other and what it says.
        second: String,
    },
    /// An architecture whose memory is not modelled.
    #[error("plan for {architecture}: {why}")]
    NotModelled {
        /// Its name.
        architecture: String,
        /// What is not modelled.
        why: &'static str,
    },
}

/// A parsed configuration.
#[derive(Debug, Clone)]
pub struct Config {
    root: Map<String, Value>,
    text: Option<Map<String, Value>>,
}

impl Config {
    /// Parses `config.json`. Python writes `Infinity` and `NaN`, which are no JSON, and is understood.
    ///
    /// # Errors
    ///
    /// It is no JSON, or no object.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let root = object(text, "config.json")?;
        let nested = |key: &&str| root.get(*key).and_then(Value::as_object).filter(|inner| inner.contains_key("hidden_size"));
        let thinker = root.get("thinker_config").and_then(|thinker| thinker.get("text_config")).and_then(Value::as_object);
        let text = NESTED.iter().find_map(nested).or(thinker).cloned();
        Ok(Self { root, text })
    }

    /// Adds what ModelOpt writes into a file of its own, `hf_quant_config.json`, where the configuration does not say how it is quantised.
    ///
    /// # Errors
    ///
    /// It is no JSON, or no object.
    pub fn add_modelopt(&mut self, text: &str) -> Result<(), ConfigError> {
        let found = object(text, "hf_quant_config.json")?;
        let has = |map: &Map<String, Value>| map.get("quantization_config").is_some_and(|config| !config.is_null());
        if !has(&self.root) && !self.text.as_ref().is_some_and(has) {
            self.root.insert("quantization_config".to_owned(), Value::Object(found));
        }
        Ok(())
    }

    /// The first of `architectures`, or the model's type.
    #[must_use]
    pub fn architecture(&self) -> Option<&str> {
        let first = self.root.get("architectures").and_then(Value::as_array).and_then(|all| all.first()).and_then(Value::as_str);
        first.or_else(|| self.root.get("model_type").and_then(Value::as_str))
    }

    /// The type of the language model: that of the text part, where there is one.
    #[must_use]
    pub fn model_type(&self) -> &str {
        let inner = self.text.as_ref().and_then(|text| text.get("model_type")).and_then(Value::as_str);
        inner.or_else(|| self.root.get("model_type").and_then(Value::as_str)).unwrap_or_default()
    }

    /// A field of the language model; what the text part does not say is looked for beside it. `null` counts as not there.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&Value> {
        let inner = self.text.as_ref().and_then(|text| text.get(field)).filter(|value| !value.is_null());
        inner.or_else(|| self.root.get(field)).filter(|value| !value.is_null())
    }

    /// A field beside the language model, such as `vision_config`.
    #[must_use]
    pub fn beside(&self, field: &str) -> Option<&Value> {
        self.root.get(field).filter(|value| !value.is_null())
    }

    /// Whether a language model is nested in a larger model.
    #[must_use]
    pub const fn is_nested(&self) -> bool {
        self.text.is_some()
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    ///
    /// The field holds something else.
    pub fn number(&self, field: &str) -> Result<Option<u64>, ConfigError> {
        let written = self.get(field).map(|value| number(field, alike(value))).transpose()?;
        Ok(written.or_else(|| class_default(self.model_type(), field)))
    }

    /// The first of several names that is there.
    ///
    /// # Errors
    ///
    /// The field holds no whole number.
    pub fn any_number(&self, fields: &[&str]) -> Result<Option<u64>, ConfigError> {
        for field in fields {
            if let Some(found) = self.number(field)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A whole number above zero under the first name that is there.
    ///
    /// # Errors
    ///
    /// None is there, or it holds no whole number above zero.
    pub fn needed(&self, fields: &[&'static str]) -> Result<u64, ConfigError> {
        match self.any_number(fields)? {
            None => Err(ConfigError::Missing { field: fields.first().copied().unwrap_or_default() }),
            Some(0) => Err(ConfigError::Wrong {
                field: fields.first().copied().unwrap_or_default().to_owned(),
                found: "0".to_owned(),
                expected: "a whole number above zero",
            }),
            Some(found) => Ok(found),
        }
    }

    /// A whole number above zero, or what holds where the field is not there.
    ///
    /// # Errors
    ///
    /// The field holds something else.
    pub fn or(&self, field: &'static str, default: u64) -> Result<u64, ConfigError> {
        if self.number(field)?.is_none() { Ok(default) } else { self.needed(&[field]) }
    }

    /// A truth value; `None` where the field is not there or holds something else.
    #[must_use]
    pub fn flag(&self, field: &str) -> Option<bool> {
        self.get(field).and_then(Value::as_bool)
    }

    /// A text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.get(field).and_then(Value::as_str)
    }

    /// A list of texts, such as `layer_types`.
    ///
    /// # Errors
    ///
    /// It is there, and holds something else.
    pub fn texts(&self, field: &'static str) -> Result<Option<Vec<&str>>, ConfigError> {
        let wrong = || ConfigError::Wrong { field: field.to_owned(), found: shown(self.get(field)), expected: "a list of names" };
        let Some(value) = self.get(field) else { return Ok(None) };
        let items = value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect::<Result<_, _>>().map(Some)
    }

    /// A list of whole numbers.
    ///
    /// # Errors
    ///
    /// It is there, and holds something else.
    pub fn numbers(&self, field: &'static str) -> Result<Option<Vec<u64>>, ConfigError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        list(field, value).map(Some)
    }
}

/// What `transformers` takes where a published configuration leaves a field out, for classes whose published files rely on it.
fn class_default(model_type: &str, field: &str) -> Option<u64> {
    Some(match (model_type, field) {
        ("gemma3_text", "num_attention_heads") => 8,
        ("gemma3_text", "num_key_value_heads") => 4,
        ("gemma" | "gemma2" | "gemma3_text", "head_dim") => 256,
        ("gemma3_text", "sliding_window") => 4096,
        ("gemma2", "sliding_window") => 4096,
        ("falcon", "max_position_embeddings") => 2048,
        ("gemma3_text", "vocab_size") => 262_208,
        ("gemma3_text", "max_position_embeddings") => 131_072,
        ("gemma3_text", "sliding_window_pattern") => 6,
        ("cohere2", "sliding_window_pattern") => 4,
        ("qwen3_next" | "qwen3_5_text" | "qwen3_5_moe_text", "full_attention_interval") => 4,
        ("llama4_text", "attention_chunk_size") => 8192,
        _ => return None,
    })
}

/// What a list of one number for every layer says, where all are the same; anything else as it is.
fn alike(value: &Value) -> &Value {
    let one = value.as_array().and_then(|all| all.first().filter(|first| all.iter().all(|other| other == *first)));
    one.unwrap_or(value)
}

/// The whole numbers of a list.
pub(crate) fn list(field: &str, value: &Value) -> Result<Vec<u64>, ConfigError> {
    let wrong = || ConfigError::Wrong { field: field.to_owned(), found: shown(Some(value)), expected: "a list of whole numbers" };
    value.as_array().ok_or_else(wrong)?.iter().map(|item| number(field, item)).collect()
}

/// Reads a whole number, also one written as `128.0`.
pub(crate) fn number(field: &str, value: &Value) -> Result<u64, ConfigError> {
    let whole = value.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0 && *x <= MOST as f64).map(|x| x as u64);
    let found = value.as_u64().or(whole).filter(|x| *x <= MOST);
    let is_huge = value.as_f64().is_some_and(|x| x > MOST as f64);
    let expected = if is_huge { "a number that any model has" } else { "a whole number that is not negative" };
    found.ok_or_else(|| ConfigError::Wrong { field: field.to_owned(), found: shown(Some(value)), expected })
}

/// Parses an object of a file with this name.
pub(crate) fn object(text: &str, name: &'static str) -> Result<Map<String, Value>, ConfigError> {
    let text = text.trim_start_matches('\u{feff}');
    let parsed = serde_json::from_str(text).or_else(|first| serde_json::from_str(&without_infinities(text)).or(Err(first)));
    let value: Value = parsed.map_err(|source| ConfigError::NotJson { name, source })?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(ConfigError::NotAnObject { name }),
    }
}

/// Puts `null` in the place of what Python's `json` writes for numbers that JSON does not have.
fn without_infinities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_text = false;
    while let Some(c) = rest.chars().next() {
        let word = (!in_text).then(|| ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word))).flatten();
        let taken = match (word, c) {
            (Some(word), _) => {
                out.push_str("null");
                word.len()
            }
            (None, '\\') if in_text => {
                let escaped = rest.chars().take(2).map(char::len_utf8).sum();
                out.push_str(&rest[..escaped]);
                escaped
            }
            _ => {
                in_text ^= c == '"';
                out.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// A value in a few characters.
pub(super) fn shown(value: Option<&Value>) -> String {
    let text = value.map(Value::to_string).unwrap_or_default();
    let few: String = text.chars().take(40).collect();
    if few.len() < text.len() { format!("{few}\u{2026}") } else { few }
}

#[cfg(test)]
mod tests {
    use super::{Config, ConfigError};

    #[test]
    fn what_python_writes_is_read() {
        let config =
            Config::parse("\u{feff}{\"a\": [0.0, Infinity], \"b\": -Infinity, \"c\": \"NaN \\\" NaN\", \"d\": 8.0}").expect("a config");
        assert_eq!(config.text("c"), Some("NaN \" NaN"));
        assert_eq!(config.number("d").expect("a number"), Some(8));
        assert_eq!(config.number("b").expect("null is not there"), None);
    }

    #[test]
    fn bad_numbers_and_no_objects_are_refused() {
        let config = Config::parse(r#"{"a": -1, "b": 1.5, "c": "8", "d": true, "e": 1e30, "f": 0}"#).expect("a config");
        for field in ["a", "b", "c", "d", "e"] {
            assert!(matches!(config.number(field), Err(ConfigError::Wrong { .. })), "{field}");
        }
        assert!(matches!(config.needed(&["f"]), Err(ConfigError::Wrong { .. })));
        assert!(matches!(config.needed(&["g"]), Err(ConfigError::Missing { field: "g" })));
        assert!(matches!(Config::parse("[]"), Err(ConfigError::NotAnObject { .. })));
        assert!(matches!(Config::parse("{"), Err(ConfigError::NotJson { .. })));
        assert!(matches!(Config::parse(""), Err(ConfigError::NotJson { .. })));
    }

    #[test]
    fn the_language_model_is_found_inside_a_multimodal_one() {
        let config = Config::parse(
            r#"{"model_type": "gemma3", "torch_dtype": "bfloat16", "text_config": {"hidden_size": 8, "model_type": "gemma3_text"}}"#,
        );
        let config = config.expect("a config");
        assert_eq!((config.model_type(), config.text("torch_dtype")), ("gemma3_text", Some("bfloat16")));
        assert_eq!(config.architecture(), Some("gemma3"));
    }
}
