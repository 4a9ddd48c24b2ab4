//! The proof of readiness as evidence, one a condition, and how far the program came when.

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::ids::{TimeNs, TrialId};
use bystander_supervise::listener::Holder;
use bystander_supervise::ready::{Levels, Readiness};

use super::super::told;

/// The evidence of a program that is ready; `started` is when it was spawned.
pub(in super::super) fn evidence(trial: TrialId, readiness: &Readiness, started: TimeNs) -> Vec<Evidence> {
    let mut found: Vec<Evidence> =
        readiness.logs.iter().map(|line| Evidence::log(trial, line.stream, line.number, line.text().trim_end())).collect();
    if let Some(said) = &readiness.notified {
        let status = said.status.as_ref().map_or_else(String::new, |status| format!(", with the status: {status}"));
        found.push(Evidence::sample(trial, "NOTIFY_SOCKET", &format!("READY=1 from process {} of this trial{status}", said.pid)));
    }
    if let Some(file) = &readiness.file {
        let how = if file.changed { "changed since the launch" } else { "made since the launch" };
        let kind = EvidenceKind::File;
        let text = format!("{how}, {} bytes", file.bytes);
        found.push(Evidence { trial: Some(trial), kind, place: file.path.display().to_string(), text });
    }
    let http = |url: &str, text: String| Evidence { trial: Some(trial), kind: EvidenceKind::Http, place: url.to_owned(), text };
    for answer in &readiness.http {
        let matched = answer.matched.as_ref().map_or_else(String::new, |matched| format!(" with `{matched}`"));
        found.push(http(&answer.url, format!("answered {}{matched} by {} of this trial", answer.status, told(&answer.listener))));
    }
    if let Some(command) = &readiness.command {
        let text = format!("exit code 0 of `{}`, run {}", command.argv.join(" "), times(command.runs));
        found.push(Evidence { trial: Some(trial), kind: EvidenceKind::Exit, place: "ready.command".to_owned(), text });
    }
    if let Some(made) = &readiness.generation {
        let tokens = made.tokens.map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
        let text = format!("`{}` completed a prompt with {:?}{tokens}, by {} of this trial", made.model, made.text, told(&made.listener));
        found.push(http(&made.url, text));
    }
    if let Some(holder) = readiness.listener.as_ref().filter(|_| readiness.http.is_empty() && readiness.generation.is_none()) {
        found.push(listens(trial, holder));
    }
    found.push(Evidence::sample(trial, "readiness", &reached(&readiness.levels, started)));
    found
}

fn listens(trial: TrialId, holder: &Holder) -> Evidence {
    Evidence::sample(trial, "/proc/net/tcp", &format!("{} of this trial listens", told(holder)))
}

fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// How far it came, and each step with the seconds from spawn.
fn reached(levels: &Levels, started: TimeNs) -> String {
    let Levels { port, health, models, generation, stable } = *levels;
    let named =
        [("port bound", port), ("health green", health), ("models shown", models), ("first completion", generation), ("stable", stable)];
    let steps: Vec<(&str, f64)> =
        named.into_iter().filter_map(|(name, at)| at.map(|at| (name, at.seconds_since(started).max(0.0)))).collect();
    let deepest = steps.iter().rev().find(|(name, _)| *name != "stable").map_or("its own word", |(name, _)| *name);
    let told: Vec<String> = steps.iter().map(|(name, at)| format!("{name} {at:.3} s")).collect();
    format!("ready by {deepest}; after spawn: {}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use bystander_model::ids::TimeNs;
    use bystander_supervise::ready::Levels;

    use super::reached;

    #[test]
    fn the_deepest_level_and_every_time_are_told() {
        let at = |ms: u64| Some(TimeNs(1_000_000_000 + ms * 1_000_000));
        let all = Levels { port: at(1020), health: at(3000), models: at(3100), generation: at(5710), stable: at(7720) };
        let told = reached(&all, TimeNs(1_000_000_000));
        assert_eq!(
            told,
            "ready by first completion; after spawn: port bound 1.020 s, health green 3.000 s, models shown 3.100 s, first completion 5.710 s, stable 7.720 s"
        );
        let said = Levels { stable: at(250), ..Levels::default() };
        assert_eq!(reached(&said, TimeNs(1_000_000_000)), "ready by its own word; after spawn: stable 0.250 s");
    }
}
