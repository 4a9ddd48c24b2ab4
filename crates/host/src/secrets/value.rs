//! Captured values without secrets that are known from environment and command, under whatever name they were captured.

use bystander_model::hit::Hit;
use bystander_model::value::Value;

use super::blot;

/// Replaces every known secret in the texts of a hit by stars.
pub fn blot_hit(hit: &mut Hit, secrets: &[String]) {
    if !secrets.is_empty() {
        hit.values.values_mut().for_each(|value| blot_value(value, secrets));
    }
}

fn blot_value(value: &mut Value, secrets: &[String]) {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
        Value::Text(text) => blot_text(text, secrets),
        Value::Object(object) => {
            object.text.iter_mut().for_each(|text| blot_text(text, secrets));
            object.items.iter_mut().flatten().for_each(|item| blot_value(item, secrets));
            if let Some(entries) = &mut object.entries {
                // A secret may be a key, too.
                *entries = std::mem::take(entries).into_iter().map(|(key, value)| (blot(&key, secrets).into_owned(), value)).collect();
                entries.values_mut().for_each(|value| blot_value(value, secrets));
            }
        }
    }
}

fn blot_text(text: &mut String, secrets: &[String]) {
    if let std::borrow::Cow::Owned(blotted) = blot(text, secrets) {
        *text = blotted;
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::value::{ObjectValue, Value};
    use indexmap::IndexMap;

    use super::blot_value;

    #[test]
    fn a_known_secret_is_blotted_at_any_depth() {
        let text = || Value::Text("key hunter22!".into());
        let mut value = Value::Object(Box::new(ObjectValue {
            items: Some(vec![text(), Value::Int(3)]),
            entries: Some(IndexMap::from([("hunter22".to_owned(), text()), ("plain".to_owned(), Value::Null)])),
            text: Some("hunter22".into()),
            ..ObjectValue::default()
        }));
        blot_value(&mut value, &["hunter22".to_owned()]);
        let shown = serde_json::to_string(&value).expect("serialises");
        assert!(!shown.contains("hunter22") && shown.contains("key ********!") && shown.contains("plain"), "{shown}");
    }
}
