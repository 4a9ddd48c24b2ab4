//! Options of vLLM that are objects in JSON.

use serde_json::Value;

use super::Speculative;

/// Reads `--speculative-config`: how tokens are guessed, and the draft model.
pub(super) fn read(text: &str) -> Option<(Speculative, Option<String>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let object = value.as_object()?;
    let word = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let draft = word("model").filter(|model| !matches!(model.as_str(), "ngram" | "[ngram]"));
    // Without a method, a model is a draft model of its own.
    let method = word("method").or_else(|| draft.as_ref().map(|_| "draft_model".to_owned())).or_else(|| word("model"))?;
    let tokens = object.get("num_speculative_tokens").and_then(Value::as_u64);
    Some((Speculative { method: method.to_lowercase(), steps: tokens, branches: None, tokens }, draft))
}

/// One field of it, as `--speculative-config.FIELD` has it: JSON where it is JSON, else a text.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// Whether `--compilation-config` turns graphs off.
pub(super) fn is_without_graphs(text: &str) -> bool {
    if text == "0" {
        return true;
    }
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let mode = value.get("cudagraph_mode").and_then(Value::as_str);
    mode.is_some_and(|mode| mode.eq_ignore_ascii_case("none")) || value.get("level").and_then(Value::as_u64) == Some(0)
}
