//! Where a statement comes from, in a few words that the user can follow: `trial 3 stderr:41`.

use bystander_model::cell::Cell;
use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::TrialId;
use bystander_model::report::TrialReport;
use indexmap::IndexMap;

use crate::prose::{GLUE, clean};

/// Names one piece of evidence.
pub(crate) fn place(evidence: &Evidence) -> String {
    let source = source(evidence);
    evidence.trial.map_or_else(|| source.clone(), |trial| format!("trial {trial} {source}"))
}

/// Names the source within its trial.
fn source(evidence: &Evidence) -> String {
    let place = clean(&evidence.place);
    let kind = match evidence.kind {
        EvidenceKind::Formula => "formula ",
        EvidenceKind::File => "file ",
        EvidenceKind::Http if !place.to_ascii_lowercase().contains("http") => "http ",
        _ => "",
    };
    format!("{kind}{place}")
}

/// Names evidence in brackets, each place once with the trials that have it, at most `most` places; nothing where there is none.
pub(crate) fn bracketed(evidence: &[Evidence], most: usize) -> String {
    let mut places: IndexMap<String, Vec<TrialId>> = IndexMap::new();
    for one in evidence {
        places.entry(source(one)).or_default().extend(one.trial);
    }
    if places.is_empty() {
        return String::new();
    }
    let named = places.iter().take(most).map(|(source, ids)| match ids.as_slice() {
        [] => source.clone(),
        ids => format!("{} {source}", trials(ids)),
    });
    let named: Vec<String> = named.map(|place| place.replace(' ', &GLUE.to_string())).collect();
    let more = places.len().saturating_sub(most);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!(" [{}{rest}]", named.join(", "))
}

/// Names the cell of a trial: `nccl/print`.
pub(crate) fn cell_of(trial: &TrialReport) -> String {
    cell(&trial.levels, &trial.instrument)
}

/// Names a cell: `nccl/print`.
pub(crate) fn cell(levels: &IndexMap<String, String>, instrument: &str) -> String {
    clean(&Cell { levels: levels.clone(), instrument: instrument.to_owned() }.to_string())
}

/// Names trials: `trial 3`, `trials 1–6`, `trials 1, 4, 6`.
pub(crate) fn trials(ids: &[TrialId]) -> String {
    let mut numbers: Vec<u32> = ids.iter().map(|id| id.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let word = if numbers.len() == 1 { "trial" } else { "trials" };
    format!("{word} {}", runs(&numbers))
}

/// Writes ascending numbers with ranges: `0–3, 5`.
pub(crate) fn runs(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let said = parts.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}\u{2013}{last}"),
    });
    said.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::{Evidence, EvidenceKind, Stream};
    use bystander_model::ids::TrialId;

    use super::{bracketed, runs, trials};

    #[test]
    fn places_are_named_once_and_not_too_many() {
        let log = |line| Evidence::log(TrialId(3), Stream::Stderr, line, "x");
        let formula = Evidence { trial: None, kind: EvidenceKind::Formula, place: "Fisher".into(), text: String::new() };
        assert_eq!(bracketed(&[log(41), log(41), formula], 4), " [trial\u{a0}3\u{a0}stderr:41, formula\u{a0}Fisher]");
        assert_eq!(bracketed(&[log(1), log(2), log(3)], 2), " [trial\u{a0}3\u{a0}stderr:1, trial\u{a0}3\u{a0}stderr:2 and 1 more]");
        let elsewhere = Evidence::log(TrialId(5), Stream::Stderr, 41, "x");
        assert_eq!(bracketed(&[log(41), elsewhere], 2), " [trials\u{a0}3,\u{a0}5\u{a0}stderr:41]");
        assert_eq!(bracketed(&[], 2), "");
    }

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(runs(&[0, 1, 2, 3, 5, 7, 8]), "0\u{2013}3, 5, 7, 8");
        assert_eq!(trials(&[TrialId(4), TrialId(3), TrialId(5)]), "trials 3\u{2013}5");
        assert_eq!(trials(&[TrialId(4)]), "trial 4");
    }
}
