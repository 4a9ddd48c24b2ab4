//! From what the overlay encoded to a captured value of the model.

use bystander_model::value::{ObjectValue, Value};

use crate::marshal::Data;

/// Turns decoded data into a value; dicts are what the overlay says of a value, tuples and lists are containers captured whole.
pub(crate) fn value(data: Data) -> Value {
    match data {
        Data::None => Value::Null,
        Data::Bool(flag) => Value::Bool(flag),
        Data::Int(number) => Value::Int(number),
        Data::Big(text) => object(ObjectValue { type_name: Some("int".into()), text: Some(text), ..ObjectValue::default() }),
        Data::Huge(bits) => object(ObjectValue {
            type_name: Some("int".into()),
            text: Some(format!("{bits} bits")),
            truncated: true,
            ..ObjectValue::default()
        }),
        Data::Float(number) => float(number),
        Data::Text(text) => Value::Text(text),
        Data::Bytes(bytes) => {
            object(ObjectValue { type_name: Some("bytes".into()), len: Some(bytes.len() as u64), ..ObjectValue::default() })
        }
        Data::Tuple(items) => container("tuple", items),
        Data::List(items) => container("list", items),
        Data::Dict(entries) => described(entries),
    }
}

fn object(value: ObjectValue) -> Value {
    Value::Object(Box::new(value))
}

fn container(name: &str, items: Vec<Data>) -> Value {
    object(ObjectValue {
        type_name: Some(name.into()),
        len: Some(items.len() as u64),
        items: Some(items.into_iter().map(value).collect()),
        ..ObjectValue::default()
    })
}

/// A float, which is an object with a text where JSON has no number for it.
pub(crate) fn float(number: f64) -> Value {
    if number.is_finite() {
        return Value::Float(number);
    }
    let text = if number.is_nan() { "nan" } else { if number > 0.0 { "inf" } else { "-inf" } };
    object(ObjectValue { type_name: Some("float".into()), text: Some(text.into()), ..ObjectValue::default() })
}

fn described(entries: Vec<(Data, Data)>) -> Value {
    let mut known = ObjectValue::default();
    for (key, data) in entries {
        let Data::Text(key) = key else { continue };
        match (key.as_str(), data) {
            ("type", Data::Text(text)) => known.type_name = Some(text),
            ("len", Data::Int(length)) => known.len = u64::try_from(length).ok(),
            ("text", Data::Text(text)) => known.text = Some(text),
            ("items", Data::List(items)) => known.items = Some(items.into_iter().map(value).collect()),
            ("entries", Data::Dict(entries)) => {
                known.entries = Some(entries.into_iter().filter_map(|(key, data)| Some((text_of(key)?, value(data)))).collect());
            }
            ("shape", Data::List(sizes)) => known.shape = Some(sizes.iter().filter_map(int_of).collect()),
            ("dtype", Data::Text(text)) => known.dtype = Some(text),
            ("device", Data::Text(text)) => known.device = Some(text),
            ("error", Data::Text(text)) => known.error = Some(text),
            ("redacted", Data::Bool(flag)) => known.redacted = flag,
            ("truncated", Data::Bool(flag)) => known.truncated = flag,
            _ => {}
        }
    }
    object(known)
}

/// The integer in a decoded value.
pub(crate) fn int_of(data: &Data) -> Option<i64> {
    if let Data::Int(number) = data { Some(*number) } else { None }
}

/// The text in a decoded value.
pub(crate) fn text_of(data: Data) -> Option<String> {
    if let Data::Text(text) = data { Some(text) } else { None }
}
