//! The summary on one screen: how the program ended and how many hits there are, then each probe with its processes, then the way to see it again.

use bystander_model::hit::{Receipt, ReceiptState};
use bystander_model::watch::{ProbeSummary, WatchStatus, WatchSummary};

use crate::number;
use crate::page::Page;
use crate::place::runs;
use crate::prose::{clean, count, shorten};
use crate::style::{Role, Style};

/// Sorts of processes of one probe that are shown.
const SORTS: usize = 6;
/// Process numbers that are shown of one sort.
const PIDS: usize = 6;

/// Renders a summary; `again` is the command that shows it again.
#[must_use]
pub fn watch_text(summary: &WatchSummary, style: &Style, again: &str) -> String {
    let mut page = Page::new(style);
    let answer = format!("{}: {}.", ended(summary), hits(summary.hits));
    let good = summary.status == WatchStatus::Ended && summary.exit == Some(0);
    page.led("", Some(if good { Role::Good } else { Role::Bad }), 0, &answer);
    for text in summary.trouble.iter().chain(&summary.left) {
        page.led("note: ", None, 6, &clean(text));
    }
    for probe in &summary.probes {
        self::probe(&mut page, probe, summary);
    }
    if !again.is_empty() {
        page.paragraph(&format!("recorded: {again}"));
    }
    page.finish()
}

fn hits(hits: u64) -> String {
    count(usize::try_from(hits).unwrap_or(usize::MAX), "hit", "hits")
}

fn counted_passes(passes: u64) -> String {
    count(usize::try_from(passes).unwrap_or(usize::MAX), "pass", "passes")
}

fn ended(summary: &WatchSummary) -> String {
    let program = shorten(&clean(&summary.command.join(" ")), 60);
    let after = summary.wall_s.map_or_else(String::new, |wall| format!(" after {}", number::seconds(wall)));
    let status = match (summary.exit, summary.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}{}", signal_name(signal)),
        (None, None) => "its end is not known".to_owned(),
    };
    match summary.status {
        WatchStatus::Ended => format!("`{program}` ended with {status}{after}"),
        WatchStatus::Interrupted => match &summary.why {
            Some(why) => format!("`{program}` was stopped{after} ({status}): {}", clean(why)),
            None => format!("`{program}` was stopped by you ({status}){after}"),
        },
        WatchStatus::Running => format!("`{program}` is still running"),
        WatchStatus::Killed => format!("`{program}`: nobody recorded its end: Bystander was killed while it watched, or could not write"),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

fn probe(page: &mut Page<'_>, probe: &ProbeSummary, summary: &WatchSummary) {
    page.heading(&format!("{}  {}", clean(&probe.probe), clean(&probe.text)));
    let receipts: Vec<&Receipt> = summary.receipts.iter().filter(|receipt| receipt.probe == probe.probe).collect();
    match &probe.silent {
        Some(why) => page.indented(&format!("0 hits: {}.", clean(why))),
        None => page.indented(&format!("{}.", counted(probe, &receipts))),
    }
    if probe.unsafe_capture {
        page.indented("UNSAFE: captures may have run code of the program.");
    }
    let sorts = sorts(&receipts);
    // One process alone is told by the line above.
    if receipts.len() > 1 {
        for (said, who) in sorts.iter().take(SORTS) {
            let each = if who.len() > 1 && who[0].hits.is_some_and(|hits| hits > 0) { " each" } else { "" };
            page.led(&format!("    {}: ", holders(who)), None, 6, &format!("{said}{each}"));
        }
    }
    if sorts.len() > SORTS {
        page.indented(&format!("  \u{2026} {} more sorts of processes (--json has them all)", sorts.len() - SORTS));
    }
    if probe.silent.is_none() {
        cost(page, probe);
    }
}

/// The numbers over all processes.
fn counted(probe: &ProbeSummary, receipts: &[&Receipt]) -> String {
    let mut said = vec![hits(probe.hits.unwrap_or(probe.recorded).max(probe.recorded))];
    if let [receipt] = receipts {
        said[0].push_str(&format!(" in {}", holders(&[*receipt])));
    }
    if let Some(passes) = probe.passes.filter(|passes| Some(*passes) != probe.hits) {
        said[0].push_str(&format!(" of {}", counted_passes(passes)));
    }
    if let Some(throttled) = probe.throttled.filter(|throttled| *throttled > 0) {
        said.push(format!("{} turned away by the rate", figure(throttled)));
    }
    match probe.dropped {
        None => said.push("what was dropped is not known".to_owned()),
        Some(0) => said.push("none dropped".to_owned()),
        Some(dropped) => {
            let expired: u64 =
                receipts.iter().filter(|receipt| receipt.state == ReceiptState::Expired).filter_map(|receipt| receipt.dropped).sum();
            if expired > 0 {
                said.push(format!("{} past the limit of their process, counted and not recorded", figure(expired)));
            }
            if dropped > expired {
                said.push(format!("{} DROPPED: a ring was full", figure(dropped - expired)));
            }
        }
    }
    if let [receipt] = receipts {
        said.extend(held_back(receipt).map(str::to_owned));
    }
    said.join(", ")
}

/// What kept a probe from recording at the end.
fn held_back(receipt: &Receipt) -> Option<&'static str> {
    match receipt.state {
        ReceiptState::Expired => Some("expired: its limit is reached"),
        ReceiptState::Paused => Some("paused: over its budget"),
        _ => None,
    }
}

fn figure(n: u64) -> String {
    number::integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Processes of which the same is to be said.
fn sorts<'r>(receipts: &[&'r Receipt]) -> Vec<(String, Vec<&'r Receipt>)> {
    let mut sorts: Vec<(String, Vec<&Receipt>)> = Vec::new();
    for receipt in receipts {
        let said = said(receipt);
        match sorts.iter_mut().find(|(known, _)| *known == said) {
            Some((_, who)) => who.push(receipt),
            None => sorts.push((said, vec![receipt])),
        }
    }
    // Those that tell most come first.
    sorts.sort_by_key(|(_, who)| std::cmp::Reverse(who[0].hits.unwrap_or(0)));
    sorts
}

/// What a process says of a probe.
fn said(receipt: &Receipt) -> String {
    let detail = receipt.detail.as_ref().map(|detail| clean(detail));
    let because = detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})"));
    match receipt.state {
        ReceiptState::NotImported => "no module was loaded from the file".to_owned(),
        ReceiptState::Uncovered => format!("NOT COVERED{because}: out of the probes' reach"),
        ReceiptState::Refused => format!("REFUSED{because}"),
        ReceiptState::CompiledAway => format!("compiled away{because}"),
        ReceiptState::NotReached => "in place, not reached".to_owned(),
        ReceiptState::Armed | ReceiptState::Paused | ReceiptState::Expired => {
            let mut said = hits(receipt.hits.unwrap_or(0));
            if let Some(passes) = receipt.passes.filter(|passes| Some(*passes) != receipt.hits) {
                said.push_str(&format!(" of {}", counted_passes(passes)));
            }
            if let Some(throttled) = receipt.throttled.filter(|throttled| *throttled > 0) {
                said.push_str(&format!(", {} throttled", figure(throttled)));
            }
            if let Some(dropped) = receipt.dropped.filter(|dropped| *dropped > 0) {
                said.push_str(&format!(", {} not recorded", figure(dropped)));
            }
            held_back(receipt).into_iter().for_each(|why| said.push_str(&format!(", {why}")));
            said
        }
    }
}

/// `ranks 0–7`, `pid 812`, `12 processes`.
fn holders(who: &[&Receipt]) -> String {
    let ranks: Option<Vec<u32>> = who.iter().map(|receipt| receipt.rank).collect();
    let is_rank = ranks.is_some();
    let mut numbers = ranks.unwrap_or_else(|| who.iter().map(|receipt| receipt.pid).collect());
    numbers.sort_unstable();
    numbers.dedup();
    match (is_rank, numbers.len()) {
        (true, 1) => format!("rank {}", numbers[0]),
        (true, _) => format!("ranks {}", runs(&numbers)),
        (false, 1) => format!("pid {}", numbers[0]),
        (false, n) if n <= PIDS => format!("pids {}", runs(&numbers)),
        (false, n) => format!("{n} processes"),
    }
}

fn cost(page: &mut Page<'_>, probe: &ProbeSummary) {
    let recorder = if probe.recorders.is_empty() { String::new() } else { format!("recorded by {}: ", recorders(&probe.recorders)) };
    let switch = if probe.adds_switch_point { "; adds a thread-switch point" } else { "" };
    let cost = match (probe.cost_ns, probe.cost_s) {
        (Some(each), Some(all)) => {
            let share =
                probe.cost_share.map_or_else(String::new, |share| format!(", {} of the time of the busiest process", percent(share)));
            format!("{} ns a hit, {} in all{share}", figure(each), span(all))
        }
        _ => "its cost was not measured".to_owned(),
    };
    page.indented(&format!("{recorder}{cost}{switch}."));
}

fn recorders(words: &[String]) -> String {
    let named = words.iter().map(|word| match word.as_str() {
        "native" => "the native recorder".to_owned(),
        "python" => "plain Python".to_owned(),
        other => clean(other),
    });
    named.collect::<Vec<_>>().join(" and ")
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        part if part < 0.01 => "less than 0.01 %".to_owned(),
        part if part < 1.0 => format!("{part:.2} %"),
        part => format!("{part:.1} %"),
    }
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} \u{b5}s", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.1} s"),
    }
}
