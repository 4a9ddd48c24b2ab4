//! Who holds the port that the program says it cannot have. Looked for as soon as the program says so: whoever it is may be gone a moment later.

use std::sync::LazyLock;

use bystander_lab::cause::{PortHolder, TrialFacts};
use bystander_supervise::census;
use bystander_supervise::listener::Holder;
use bystander_supervise::trial::Trial;
use regex::Regex;

use super::super::foreign;
use super::Watch;

/// Nobody listens below this but services of the system.
const LOWEST: u16 = 80;

impl Watch<'_> {
    /// Looks for the holder after each new line that says that a port is taken.
    pub(super) fn look_for_clash(&mut self, trial: &Trial) {
        let Some(line) = self.scanner.says_port_taken().filter(|_| self.facts.port_clash.is_none()) else { return };
        let at = (line.stream, line.number);
        if self.clash_looked_at == Some(at) {
            return;
        }
        self.clash_looked_at = Some(at);
        let words: Vec<String> = self.command.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let holder = candidates(&line.text, &words).into_iter().find_map(|port| trial.stranger_at(port));
        self.facts.port_clash = holder.map(|holder| PortHolder { whose: self.whose(&holder), ..foreign(&holder) });
    }

    /// Of which other trial a holder is, by the marker in its environment.
    fn whose(&self, holder: &Holder) -> Option<String> {
        let marker = census::marker_of(holder.pid?)?;
        let (run, trial) = marker.rsplit_once('/')?;
        let (own, _) = self.command.marker.rsplit_once('/')?;
        let help = "`{port}` gives every launch a free port of its own";
        Some(match run == own {
            true => format!("it is of trial {trial} of this run; {help}"),
            false => format!("it is of trial {trial} of run {}; {help}", run.rsplit('/').next().unwrap_or(run)),
        })
    }
}

/// Another lane of the same run, where a trial that ran beside others could not have a port that every launch is given alike, and whoever held it is gone.
pub(in crate::local) fn of_another_lane(facts: &TrialFacts, command: &[String], own: Option<u16>) -> Option<PortHolder> {
    let line = facts.scan.ports.last()?;
    let port = candidates(&line.text, command).into_iter().find(|port| Some(*port) != own)?;
    Some(PortHolder {
        port,
        pid: None,
        command: Some("another launch of this run, in another lane,".to_owned()),
        of_this_trial: false,
        whose: Some("every lane wants the same one; `{port}` gives every launch a free port of its own".to_owned()),
    })
}

/// The ports that may be meant: those that the message names, else every number of the command that may be one.
fn candidates(message: &str, command: &[String]) -> Vec<u16> {
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i-u:(?:port(?: at)?[ =:]+|:|', ?)(\d{2,5})\b)").expect("a literal pattern"));
    static ANY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?-u:(?:^|[:= ])(\d{2,5})(?:$|[/ ]))").expect("a literal pattern"));
    let ports = |pattern: &Regex, text: &str| -> Vec<u16> {
        pattern.captures_iter(text).filter_map(|found| found[1].parse().ok()).filter(|port| *port >= LOWEST).collect()
    };
    let named = ports(&NAMED, message);
    if named.is_empty() { command.iter().skip(1).flat_map(|word| ports(&ANY, word)).collect() } else { named }
}

#[cfg(test)]
mod tests {
    use super::candidates;

    #[test]
    fn the_port_that_a_message_names_goes_before_numbers_of_the_command() {
        let command: Vec<String> =
            ["serve", "18558", "--addr=0.0.0.0:18559", "--len", "4096", "--x=1.5", "70000"].map(String::from).to_vec();
        for (message, ports) in [
            ("OSError: [Errno 98] Address already in use", &[18558, 18559, 4096][..]),
            ("ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 18300): address already in use", &[18300]),
            ("Error: listen EADDRINUSE: address already in use :::3000", &[3000]),
            ("12:30:59 listen tcp 0.0.0.0:8080: bind: address already in use", &[8080]),
            ("ValueError: rpc_port at 18562 is not available in 30 seconds. rpc_port is used by a process already. pid=4711", &[18562]),
            ("Port 7000 is already in use", &[7000]),
        ] {
            assert_eq!(candidates(message, &command), ports, "{message}");
        }
    }
}
