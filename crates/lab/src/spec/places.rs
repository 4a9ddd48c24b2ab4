//! Where every value of a valid file stands, for problems that are only found later: a command that does not exist, a folder that is a file.

use std::ops::Range;

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Places by path; nesting is bounded by the parser.
pub(super) fn of(document: &DeTable<'_>) -> IndexMap<String, Range<usize>> {
    let mut places = IndexMap::new();
    for (key, value) in document {
        walk(key.get_ref().to_string(), value, &mut places);
    }
    places
}

fn walk(path: String, value: &Spanned<DeValue<'_>>, places: &mut IndexMap<String, Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                walk(format!("{path}.{}", key.get_ref()), value, places);
            }
        }
        DeValue::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                walk(format!("{path}[{index}]"), value, places);
            }
        }
        _ => {}
    }
    places.insert(path, value.span());
}
