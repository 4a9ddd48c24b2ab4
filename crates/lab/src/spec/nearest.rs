//! The nearest valid name to a name that is not valid, and lists of names for people.

/// Finds the candidate that a slip of the keyboard most likely meant; `None` where nothing is near.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= tolerance(word, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many slips are allowed: one in short names, a third of the letters in long ones.
fn tolerance(word: &str, candidate: &str) -> usize {
    let letters = word.chars().count().max(candidate.chars().count());
    if letters <= 2 { 0 } else { (letters / 3).max(1) }
}

/// Case and the choice between `-` and `_` are no differences.
fn fold(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

/// Writes names as "`a`, `b` and `c`".
pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    series(names, "and")
}

/// Writes names as "`a`, `b` or `c`".
pub(super) fn choices<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    series(names, "or")
}

fn series<'a>(names: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::from("none"),
        [one] => one.clone(),
        [head @ .., tail] => format!("{} {last} {tail}", head.join(", ")),
    }
}

/// Says what to do about an invalid name: the nearest one, or which there are.
pub(super) fn hint<'a>(word: &str, what: &str, valid: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, valid.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut all = valid.into_iter().peekable();
    if all.peek().is_none() { format!("there are no {what}") } else { format!("{what} are {}", names(all)) }
}

#[cfg(test)]
mod tests {
    use super::{choices, nearest};

    #[test]
    fn a_slip_finds_its_name_and_another_word_does_not() {
        let keys = ["capture", "name", "at", "after"];
        assert_eq!(nearest("captures", keys), Some("capture"));
        assert_eq!(nearest("Cpature", keys), Some("capture"));
        assert_eq!(nearest("nmae", keys), Some("name"));
        assert_eq!(nearest("condition", keys), None);
        assert_eq!(nearest("xy", keys), None);
        assert_eq!(nearest("", keys), None);
    }

    #[test]
    fn dashes_and_case_are_no_differences() {
        assert_eq!(nearest("Insert-After", ["insert_before", "insert_after"]), Some("insert_after"));
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(choices(["a"]), "`a`");
        assert_eq!(choices(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
