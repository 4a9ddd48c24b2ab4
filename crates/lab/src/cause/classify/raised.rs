//! The cause that a traceback tells.

use std::sync::LazyLock;

use bystander_model::evidence::Evidence;
use bystander_model::outcome::{Cause, CauseGroup};
use regex::Regex;

use super::super::blame::{Blame, Spot, blame};
use super::super::clip::clip;
use super::super::ended::PORT_WORDS;
use super::super::facts::TrialFacts;
use super::super::fate::{Fate, fate};
use super::super::hints::hint;
use super::super::memory::{DEVICE_OOM, device_oom, held};
use super::super::program::{program_frame, short_file};
use super::super::signature::signature;
use super::super::traceback::{Raised, Traceback};
use super::HEADLINE;

/// The cause that a traceback tells.
pub(super) fn from_traceback(facts: &TrialFacts, traceback: &Traceback) -> Cause {
    let root = traceback.root();
    let ended = fate(facts, traceback);
    // An added line that catches and prints an error is in its stack as well, and breaks nothing.
    let (blamed, suspect) = match blame(traceback, &facts.edits, &facts.place) {
        Some(found) if ended == Fate::Ended => (Some(found), None),
        found => (None, found),
    };
    let frame = blamed.as_ref().map(|blame| &blame.frame).or_else(|| program_frame(root, &facts.place));
    let mut text = clip(&root.headline(), HEADLINE).to_owned();
    if root.kind.is_empty() {
        text = "a traceback whose last line never came".into();
    }
    if let Some(frame) = frame {
        let function = frame.function.as_deref().map_or_else(String::new, |function| format!("{function}, "));
        text = format!("{text} (in {function}{}:{})", short_file(&frame.file), frame.line);
    }
    if let Some(blame) = &blamed {
        text = format!("{text}; {}", blame_words(blame));
    }
    if let Some(last) = traceback.raised.last().filter(|_| traceback.raised.len() > 1) {
        text = format!("{text}; then {}", clip(&last.headline(), HEADLINE));
    }
    let memory = device_oom(traceback).map(|raised| (raised, held(&raised.whole_message())));
    if let Some((_, Some(held))) = &memory {
        text = format!("{text}; {}", held.words());
    }
    if let Some(words) = hint(traceback) {
        text = format!("{text}; {words}");
    }
    if is_launcher_s_limit(root) {
        text.push_str("; its list of failed processes is empty: nobody failed, and the launcher's own time limit ran out");
    }
    text.push_str(&who(facts, traceback));
    if let Some(suspect) = suspect {
        let words = "a line that it added is in the stack, which does not show that it ended anything";
        text = format!("{text}; {}: {words}", suspect.instrument);
    }
    let mut evidence = vec![Evidence::log(facts.trial, traceback.stream, root.at, root.headline())];
    evidence.extend(frame.map(|frame| {
        let function = frame.function.as_deref().map_or_else(String::new, |function| format!(", in {function}"));
        Evidence::log(facts.trial, traceback.stream, frame.at, format!("File \"{}\", line {}{function}", frame.file, frame.line))
    }));
    if let Fate::Open(Some(after)) = ended {
        let followed = traceback.raised.last().map_or(0, |last| last.more.len() as u64);
        let unless = if after.number <= traceback.end_line + followed { " (unless that is more of its message)" } else { "" };
        let after = after.evidence(facts.trial);
        text = format!("{text}; the program went on printing after it{unless}, {}: {}", after.place, clip(after.text.trim(), HEADLINE));
        evidence.push(after);
    }
    let port = traceback.raised.iter().find(|raised| is_port(raised)).filter(|_| blamed.is_none());
    let foreign = memory.as_ref().is_some_and(|(_, held)| held.as_ref().is_some_and(|held| held.is_mostly_foreign(facts)));
    let foreign = foreign && blamed.is_none();
    let class = if port.is_some() {
        "port_in_use".to_owned()
    } else if foreign {
        "gpu_memory_held".to_owned()
    } else if memory.is_some() {
        DEVICE_OOM.to_owned()
    } else if is_launcher_s_limit(root) {
        "timeout.starting".to_owned()
    } else {
        class_of(root)
    };
    let group = match &blamed {
        Some(_) => CauseGroup::Instrument,
        None if foreign => CauseGroup::Infrastructure,
        None => CauseGroup::Target,
    };
    Cause {
        class,
        group,
        signature: signature(traceback, &facts.place),
        text,
        blames: blamed.map(|blame| blame.instrument),
        is_echo: false,
        evidence,
    }
}

fn class_of(root: &Raised) -> String {
    if root.kind.is_empty() { "python".into() } else { format!("python.{}", root.short_kind()) }
}

/// Whether a port was taken: the words of the runtime, in an error or in what an engine makes of it.
fn is_port(raised: &Raised) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!("(?i-u:{PORT_WORDS})")).expect("a literal pattern"));
    WORDS.is_match(&raised.message)
}

/// vLLM's launcher names the processes that failed; where it names none, it had only waited for too long.
fn is_launcher_s_limit(raised: &Raised) -> bool {
    raised.message.contains("Failed core proc(s): {}")
}

fn blame_words(blame: &Blame) -> String {
    let added = format!("a line that {} added", blame.instrument);
    let (at, file) = (blame.frame.line, short_file(&blame.frame.file));
    match blame.spot {
        Spot::Innermost => format!("raised on {added}"),
        Spot::Outer => format!("called from {added}, {file}:{at}"),
        Spot::Later => format!("{added}, {file}:{at}, is in the stack of what came of it"),
    }
}

/// Who printed it, and how many others printed the same.
fn who(facts: &TrialFacts, traceback: &Traceback) -> String {
    let same = signature(traceback, &facts.place);
    let times = facts.scan.tracebacks.iter().filter(|other| !other.harmless && signature(other, &facts.place) == same).count();
    let first = traceback.rank.as_deref().map_or_else(String::new, |rank| format!("; first on {rank}"));
    let times = if times > 1 { format!("; printed {times} times") } else { String::new() };
    let guess = if traceback.interleaved { "; several processes printed at once, so its lines are a best guess" } else { "" };
    format!("{first}{times}{guess}")
}
