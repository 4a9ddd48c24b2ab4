//! Captured values: ranks that saw the same are one line; where they differ, the odd ones are named.

use bystander_model::ids::TrialId;
use bystander_model::report::Capture;
use bystander_model::value::Value;

use crate::number;
use crate::page::Page;
use crate::place::{runs, trials};
use crate::prose::{clean, count};

const GROUPS: usize = 6;
/// More different values than this are said as a range, or as a number of values.
const ODD_ONES: usize = 3;

/// The captures of one probe that say the same in one or more cells.
struct Group {
    probe: String,
    place: String,
    cells: Vec<String>,
    trials: Vec<TrialId>,
    who: String,
    values: String,
    unsafe_capture: bool,
}

pub(crate) fn write(page: &mut Page<'_>, captures: &[Capture]) {
    if captures.is_empty() {
        return;
    }
    let groups = groups(captures);
    let mut last: Option<(&str, &str)> = None;
    for group in groups.iter().take(GROUPS) {
        if last != Some((&group.probe, &group.place)) {
            let how = if group.unsafe_capture { " (unsafe: may have run code of the program)" } else { "" };
            page.heading(&format!("Captured by {} at {}{how}", group.probe, group.place));
            last = Some((&group.probe, &group.place));
        }
        let lead = format!("  {}, {}, {}: ", group.cells.join(" and "), trials(&group.trials), group.who);
        page.led(&lead, None, 4, &group.values);
    }
    if groups.len() > GROUPS {
        page.indented(&format!("\u{2026} {} more (show --why)", groups.len() - GROUPS));
    }
}

/// One group per probe, cell and trial, then cells that say the same put together.
fn groups(captures: &[Capture]) -> Vec<Group> {
    let mut together: Vec<Vec<&Capture>> = Vec::new();
    for capture in captures {
        let key = |other: &Capture| (other.hit.probe.clone(), other.cell.clone(), other.trial);
        match together.iter_mut().find(|group| key(group[0]) == key(capture)) {
            Some(group) => group.push(capture),
            None => together.push(vec![capture]),
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    for group in together.iter().map(|captures| group(captures)) {
        let same = |other: &&mut Group| {
            (&other.probe, &other.place, &other.who, &other.values) == (&group.probe, &group.place, &group.who, &group.values)
        };
        match groups.iter_mut().find(same) {
            Some(known) => {
                known.cells.extend(group.cells);
                known.trials.extend(group.trials);
            }
            None => groups.push(group),
        }
    }
    groups
}

fn group(captures: &[&Capture]) -> Group {
    let first = captures[0];
    let mut names: Vec<&String> = Vec::new();
    for name in captures.iter().flat_map(|capture| capture.hit.values.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let values: Vec<String> = names.iter().map(|name| over_ranks(name, captures)).collect();
    Group {
        probe: clean(&first.hit.probe),
        place: format!("{}:{} in {}", clean(&first.hit.file), first.hit.line, clean(&first.hit.function)),
        cells: vec![clean(&first.cell)],
        trials: vec![first.trial],
        who: who(captures),
        values: values.join(", "),
        unsafe_capture: first.unsafe_capture,
    }
}

/// Whose values these are: `8 ranks alike`, `8 ranks`, `rank 0`, `3 processes`.
fn who(captures: &[&Capture]) -> String {
    let alike = captures.len() > 1 && captures.iter().all(|capture| capture.hit.values == captures[0].hit.values);
    let ranks = captures.iter().all(|capture| capture.hit.rank.is_some());
    let said = match (captures.len(), captures[0].hit.rank) {
        (1, Some(rank)) => format!("rank {rank}"),
        (1, None) => "one process".to_owned(),
        (n, _) if ranks => count(n, "rank", "ranks"),
        (n, _) => count(n, "process", "processes"),
    };
    let most = captures.iter().map(|capture| capture.hits).max().unwrap_or(0);
    let said = if alike { format!("{said} alike") } else { said };
    if most > 1 { format!("{said}, the first of {}", count(usize::try_from(most).unwrap_or(usize::MAX), "hit", "hits")) } else { said }
}

/// One expression over all ranks.
fn over_ranks(name: &str, captures: &[&Capture]) -> String {
    let mut seen: Vec<(Option<&Value>, Vec<&Capture>)> = Vec::new();
    for capture in captures {
        let value = capture.hit.values.get(name);
        match seen.iter_mut().find(|(known, _)| *known == value) {
            Some((_, who)) => who.push(capture),
            None => seen.push((value, vec![capture])),
        }
    }
    // The value that most ranks saw comes first; `sort_by_key` keeps the order of ranks among equals.
    seen.sort_by_key(|(_, who)| std::cmp::Reverse(who.len()));
    let name = clean(name);
    if let [(value, _)] = seen.as_slice() {
        return format!("{name} = {}", said(*value));
    }
    let common = &seen[0];
    if seen.len() <= ODD_ONES + 1 && common.1.len() * 2 > captures.len() {
        let odd: Vec<String> = seen[1..].iter().map(|(value, who)| format!("{} on {}", said(*value), holders(who))).collect();
        return format!("{name} = {}, but {}", said(common.0), odd.join(", "));
    }
    if let Some((low, high)) = extremes(&seen) {
        return format!("{name} = {} ({}) to {} ({})", said(low.0), holders(&low.1), said(high.0), holders(&high.1));
    }
    if seen.len() <= ODD_ONES {
        let each: Vec<String> = seen.iter().map(|(value, who)| format!("{} on {}", said(*value), holders(who))).collect();
        return format!("{name} = {}", each.join(", "));
    }
    format!("{name} has {} different values", seen.len())
}

type Seen<'a> = (Option<&'a Value>, Vec<&'a Capture>);

/// The least and the greatest value, where all are numbers.
fn extremes<'s, 'a>(seen: &'s [Seen<'a>]) -> Option<(&'s Seen<'a>, &'s Seen<'a>)> {
    let number = |entry: &Seen<'a>| entry.0.and_then(Value::as_f64);
    if !seen.iter().all(|entry| number(entry).is_some()) {
        return None;
    }
    let order = |one: &&Seen<'a>, other: &&Seen<'a>| number(one).unwrap_or(0.0).total_cmp(&number(other).unwrap_or(0.0));
    Some((seen.iter().min_by(order)?, seen.iter().max_by(order)?))
}

fn said(value: Option<&Value>) -> String {
    value.map_or_else(|| "not captured".to_owned(), number::value)
}

/// `rank 3`, `ranks 0–2`, or processes where no rank is known.
fn holders(captures: &[&Capture]) -> String {
    let ranks: Option<Vec<u32>> = captures.iter().map(|capture| capture.hit.rank).collect();
    let (word, mut numbers) = match ranks {
        Some(ranks) => ("rank", ranks),
        None => ("process", captures.iter().map(|capture| capture.hit.pid).collect()),
    };
    numbers.sort_unstable();
    numbers.dedup();
    match (word, numbers.len()) {
        (word, 1) => format!("{word} {}", numbers[0]),
        ("rank", _) => format!("ranks {}", runs(&numbers)),
        _ => format!("processes {}", runs(&numbers)),
    }
}
