//! A captured value as `contract.md` spells it: a JSON scalar, or an object that says what could be known.
//!
//! Capturing happens in the probed process and never runs its code; this is only the form that arrives.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One captured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// Python's `None`, and nothing else.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer that fits 64 bits; a larger one is an [`ObjectValue`] with its digits in `text`.
    Int(i64),
    /// A finite float; NaN and infinities are an [`ObjectValue`] with `text`.
    Float(f64),
    /// A string that was captured whole.
    Text(String),
    /// Everything else.
    Object(Box<ObjectValue>),
}

/// What could be known of a value without running code of the program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectValue {
    /// The qualified type name.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// The length of an exact built-in container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub len: Option<u64>,
    /// The text of a cut string, a large integer or a non-finite float.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The first items of an exact list or tuple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<Value>>,
    /// The first entries of an exact dict whose keys are exact scalars, keys as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<IndexMap<String, Value>>,
    /// A tensor's shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<i64>>,
    /// A tensor's element type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// A tensor's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The exception that the capture met, by type name; recorded, never raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// True where the value was withheld because its name looks secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// True where a limit cut the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Value {
    /// The value as a number, for scalars that are one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// A withheld value.
    #[must_use]
    pub fn redacted() -> Self {
        Value::Object(Box::new(ObjectValue { redacted: true, ..ObjectValue::default() }))
    }

    /// A capture that met an exception of this type.
    #[must_use]
    pub fn error(type_name: impl Into<String>) -> Self {
        Value::Object(Box::new(ObjectValue { error: Some(type_name.into()), ..ObjectValue::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::{ObjectValue, Value};

    #[test]
    fn scalars_and_objects_survive_json() {
        let values = vec![
            Value::Null,
            Value::Bool(true),
            Value::Int(-3),
            Value::Float(-20.603),
            Value::Text("a\"b".into()),
            Value::redacted(),
            Value::error("AttributeError"),
            Value::Object(Box::new(ObjectValue {
                type_name: Some("torch.Tensor".into()),
                shape: Some(vec![2, 3]),
                ..ObjectValue::default()
            })),
        ];
        let text = serde_json::to_string(&values).expect("serialises");
        assert_eq!(serde_json::from_str::<Vec<Value>>(&text).expect("parses"), values);
        assert!(text.contains(r#"{"redacted":true}"#) && text.contains(r#"{"error":"AttributeError"}"#), "{text}");
    }
}
