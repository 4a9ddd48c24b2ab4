//! To which ports a command goes that is done to the program: only those of which it is known that they are to be the program's own. A command may speak to
//! other servers of this machine as well, such as one that keeps its results, and these are nobody's business.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bystander_lab::plan::Plan;
use bystander_model::cell::Cell;
use regex::Regex;

/// The ports of a cell's program that the command of the workload names: the one that the trial was given, and those that the file fixes for the program.
pub(super) fn ports(plan: &Plan, cell: &Cell, given: Option<u16>) -> BTreeSet<u16> {
    let Some(workload) = plan.workload.as_ref().filter(|workload| workload.traffic.is_none()) else { return BTreeSet::new() };
    let names_given = workload.command.iter().any(|word| word.mentions("port"));
    let named: BTreeSet<u16> = workload.command.iter().flat_map(|word| numbers(&word.0)).collect();
    let fixed = plan.fixed_ports(Some(cell)).into_keys().filter(|port| named.contains(port));
    fixed.chain(given.filter(|_| names_given)).collect()
}

/// The whole numbers of a word that may be ports, each on its own: neither a part of an address of numbers nor of a number with a fraction.
fn numbers(word: &str) -> impl Iterator<Item = u16> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?-u:[0-9A-Za-z_.]+)").expect("a literal pattern"));
    NUMBER.find_iter(word).filter_map(|token| token.as_str().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_port_stands_on_its_own_in_a_word() {
        let of = |word: &str| numbers(word).collect::<Vec<_>>();
        for word in ["8000", "--port=8000", "http://127.0.0.1:8000/v1", "[::]:8000", "curl -s http://localhost:8000; exit"] {
            assert!(of(word).contains(&8000), "{word}: {:?}", of(word));
        }
        for word in ["18000", "8000.5", "tokens_8000", "8000ms", "10.8000.1", "80000"] {
            assert!(!of(word).contains(&8000), "{word}: {:?}", of(word));
        }
    }
}
