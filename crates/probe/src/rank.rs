//! The rank of a process, from what its environment or its name says.

/// Reads a rank from the value of an environment variable such as `RANK`.
pub(crate) fn from_variable(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

/// Reads a rank from a process name: `TP3`, `rank-3`, `TP3 PP0`, `worker:3`.
///
/// Names that `multiprocessing` makes up, such as `SpawnProcess-3`, count processes and tell no rank.
pub(crate) fn from_name(name: &str) -> Option<u32> {
    let made_up = ["Process-", "PoolWorker-"];
    if made_up.iter().any(|part| name.contains(part)) || name == "MainProcess" {
        return None;
    }
    let lower = name.to_lowercase();
    let labelled = ["rank", "tp", "worker"].iter().find_map(|label| number_after(&lower, label));
    labelled.or_else(|| lower.rsplit_once(':').and_then(|(_, tail)| tail.parse().ok()))
}

fn number_after(text: &str, label: &str) -> Option<u32> {
    text.match_indices(label).find_map(|(at, _)| {
        let starts_word = text[..at].chars().next_back().is_none_or(|c| !c.is_alphabetic());
        let tail = text[at + label.len()..].trim_start_matches(['-', '_', ' ', ':', '=', '#']);
        let digits: &str = &tail[..tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len())];
        digits.parse().ok().filter(|_| starts_word)
    })
}

#[cfg(test)]
mod tests {
    use super::from_name;

    #[test]
    fn ranks_are_told_from_names_that_carry_one() {
        for (name, rank) in [
            ("TP3", Some(3)),
            ("rank-12", Some(12)),
            ("sglang::scheduler_TP1", Some(1)),
            ("VllmWorker-2", None),
            ("Worker_TP5", Some(5)),
            ("worker:7", Some(7)),
            ("scheduler:4", Some(4)),
            ("SpawnProcess-3", None),
            ("ForkPoolWorker-1", None),
            ("MainProcess", None),
            ("http://x", None),
        ] {
            assert_eq!(from_name(name), rank, "{name}");
        }
    }
}
