//! A part of a program that has died while the rest goes on: a process that ended by an exception, an engine that says that it is dead.

use bystander_model::evidence::Evidence;
use bystander_model::outcome::{Cause, CauseGroup};

use super::ended::cause;
use super::facts::{PartDied, TrialFacts};
use super::mask::mask;

/// What vLLM and SGLang write when an engine core, a worker or a scheduler ends for good. Each stands in a line with ERROR, or before a traceback.
const DEAD: [&str; 7] = [
    "EngineCore failed to start",
    "EngineCore encountered a fatal error",
    "Engine core initialization failed",
    "Engine process failed to start",
    "WorkerProc failed to start",
    "WorkerProc initialization failed",
    "Scheduler hit an exception",
];

/// The class of a program that dies, or a part of it, while its workload runs.
const DIED_UNDER_LOAD: &str = "died_under_load";

/// Whether an engine says in this line that it, or a part of it, is dead.
pub(super) fn says_dead(text: &str) -> bool {
    DEAD.iter().any(|words| text.contains(words))
}

/// Adds to what the part died of that the rest went on without it.
pub(super) fn went_on(facts: &TrialFacts, raised: Option<Cause>, span_s: f64) -> Cause {
    let died = facts.part_died.as_ref();
    let how = died.map_or("a part of it had died", |died| &died.how);
    let said = died.and_then(|died: &PartDied| died.said.as_ref());
    let on = format!("{how}; the rest went on for {span_s:.0} s without being ready, and was not waited for any longer");
    let mut found = match raised {
        Some(raised) => Cause { text: format!("{}; {on}", raised.text), ..raised },
        None => {
            let words = said.map_or_else(|| "a part of it died".to_owned(), |line| mask(line.text.trim()));
            let text = said.map_or_else(|| on.clone(), |line| format!("{}; {on}", line.text.trim()));
            cause("part_died", CauseGroup::Target, words, text)
        }
    };
    found.evidence.extend(said.map(|line| line.evidence(facts.trial)));
    found.evidence.push(Evidence::sample(facts.trial, "processes", how));
    found
}

/// A part died while the workload ran, and the rest went on: whatever was measured then is not of a whole program.
pub(super) fn under_load(facts: &TrialFacts, raised: Option<Cause>) -> Cause {
    let died = facts.part_died.as_ref();
    let how = died.map_or("a part of it died", |died| &died.how);
    let said = died.and_then(|died: &PartDied| died.said.as_ref());
    let on =
        format!("{how}, after it was ready and before its workload was done; the rest went on, and what was measured counts for nothing");
    let mut found = match raised {
        Some(raised) if raised.blames.is_some() => Cause { text: format!("{}; {on}", raised.text), ..raised },
        Some(raised) => Cause {
            class: DIED_UNDER_LOAD.to_owned(),
            signature: format!("a part died under load: {}", raised.signature),
            text: format!("{on}: {}", raised.text),
            ..raised
        },
        None => {
            let words = said.map_or_else(|| mask(how), |line| mask(line.text.trim()));
            let text = said.map_or_else(|| on.clone(), |line| format!("{on}: {}", line.text.trim()));
            cause(DIED_UNDER_LOAD, CauseGroup::Target, format!("a part died under load: {words}"), text)
        }
    };
    found.evidence.extend(said.map(|line| line.evidence(facts.trial)));
    found.evidence.push(Evidence::sample(facts.trial, "processes", how));
    found
}

#[cfg(test)]
mod tests {
    use super::says_dead;

    #[test]
    fn only_an_engine_s_own_words_say_that_it_is_dead() {
        for dead in [
            "(EngineCore_DP0 pid=77) ERROR 11-29 13:10:57 [core.py:1482] EngineCore failed to start.",
            "[2026-11-29 13:31:47 TP0] Scheduler hit an exception: Traceback (most recent call last):",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}",
        ] {
            assert!(says_dead(dead), "{dead}");
        }
        for other in [
            "ERROR 11-29 13:10:57 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.",
            "ERROR: failed to start the metrics exporter",
            "Traceback (most recent call last):",
            "WARNING: engine core will be restarted",
        ] {
            assert!(!says_dead(other), "{other}");
        }
    }
}
