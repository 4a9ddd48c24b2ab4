//! The ports that a plan fixes: those that its program is to listen on and that stand in the file as numbers.
//!
//! A bare number among the arguments may be anything, and a port named otherwise than `--port` may be that of a server that the program is a client of:
//! neither is one that is known to be the program's own.

use std::collections::BTreeMap;

use bystander_model::cell::Cell;

use super::{Level, Plan, Template};

/// Where in the file a port is fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FixedBy {
    /// By a condition of readiness.
    Ready,
    /// By the address that built-in traffic goes to.
    Traffic,
    /// By `--port` in the command, or in the arguments of a level.
    Command,
}

impl Plan {
    /// The ports that the file fixes for the trials of a cell, or of any: each with the first place that does.
    #[must_use]
    pub fn fixed_ports(&self, cell: Option<&Cell>) -> BTreeMap<u16, FixedBy> {
        let mut fixed = BTreeMap::new();
        let mut fix = |port: Option<u16>, by| {
            if let Some(port) = port.filter(|port| *port != 0) {
                fixed.entry(port).or_insert(by);
            }
        };
        let ready = self.program.ready.as_ref();
        for address in ready.iter().flat_map(|ready| ready.addresses()) {
            fix(of_address(&address.0), FixedBy::Ready);
        }
        fix(ready.and_then(|ready| ready.port.as_ref()?.0.trim().parse().ok()), FixedBy::Ready);
        let load = self.workload.as_ref().and_then(|workload| workload.traffic.as_ref());
        fix(load.and_then(|load| of_address(&load.url)), FixedBy::Traffic);
        // A program that nobody waits for may be a client, whose `--port` is another's.
        if ready.is_some() {
            fix(of_words(&self.program.command), FixedBy::Command);
            self.levels(cell).for_each(|level| fix(of_words(&level.args), FixedBy::Command));
        }
        fixed
    }

    /// The levels of a cell, or all.
    fn levels<'a>(&'a self, cell: Option<&'a Cell>) -> impl Iterator<Item = &'a Level> {
        let is_of = move |factor: &str, name: &str| cell.is_none_or(|cell| cell.levels.get(factor).is_some_and(|level| level == name));
        let all = self.factors.iter().flat_map(|(factor, levels)| levels.iter().map(move |(name, level)| (factor, name, level)));
        all.filter(move |(factor, name, _)| is_of(factor, name)).map(|(_, _, level)| level)
    }
}

/// The port of an address, where it stands there as a number.
fn of_address(address: &str) -> Option<u16> {
    let rest = address.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

/// What `--port` says; of several, the last one, as programs have it.
fn of_words(words: &[Template]) -> Option<u16> {
    let joined = words.iter().filter_map(|word| word.0.strip_prefix("--port="));
    let apart = words.windows(2).filter(|pair| pair[0].0 == "--port").map(|pair| pair[1].0.as_str());
    joined.chain(apart).filter_map(|port| port.trim().parse().ok()).next_back()
}

#[cfg(test)]
mod tests {
    use super::super::Template;
    use super::{of_address, of_words};

    #[test]
    fn the_port_of_an_address_is_read_where_it_is_a_number() {
        assert_eq!(of_address("http://127.0.0.1:8000/health"), Some(8000));
        assert_eq!(of_address("http://[::1]:8000"), Some(8000));
        assert_eq!(of_address("http://localhost:8000?a=b:7"), Some(8000));
        for none in ["http://127.0.0.1:{port}/health", "http://localhost/", "http://[::1]/", "8000"] {
            assert_eq!(of_address(none), None, "{none}");
        }
    }

    #[test]
    fn the_port_of_a_command_is_the_one_that_it_names_so() {
        let of = |words: &[&str]| of_words(&words.iter().map(|word| Template((*word).to_owned())).collect::<Vec<_>>());
        assert_eq!(of(&["serve", "--port", "8000"]), Some(8000));
        assert_eq!(of(&["serve", "--port=8001", "--x"]), Some(8001));
        for none in [&["serve", "8000"][..], &["serve", "--db-port", "5432"], &["serve", "--port"], &["serve", "--port", "{port}"]] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }
}
