//! The reference of the experiment file names every key that there is.

use std::path::Path;

#[test]
fn every_key_stands_in_the_reference() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let schema = read("src/spec/schema.rs");
    let keys = schema.split("/// Every table").next().expect("a beginning").split('"').skip(1).step_by(2);
    let reference = read("../../docs/experiment-file.md");
    let words: std::collections::BTreeSet<&str> = reference.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let missing: Vec<&str> = keys.filter(|key| !words.contains(key)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
