//! A captured value as `contract.md` spells it: a JSON scalar, or an object that says what could be known.
//!
//! Capturing happens in the probed process and never runs its code; this is only the form that arrives.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// One captured value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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

/// By what stands there, in one look: the form that is derived would try one kind after the other, for each of millions of values.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("a captured value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        ObjectValue::deserialize(MapAccessDeserializer::new(map)).map(|value| Value::Object(Box::new(value)))
    }
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
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Float(1e300),
            Value::Text("a\"b".into()),
            Value::Text("null".into()),
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
        assert_eq!(serde_json::from_str::<Value>("9223372036854775808").expect("parses"), Value::Float(9_223_372_036_854_775_808.0));
        assert!(serde_json::from_str::<Value>("[1]").is_err());
        assert!(text.contains(r#"{"redacted":true}"#) && text.contains(r#"{"error":"AttributeError"}"#), "{text}");
    }
}
