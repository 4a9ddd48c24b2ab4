//! What the verbs of `patch` found or did, as text: the answer first, then what it is about, then the next step.

use bystander_model::patch::{ApplyReport, DiffReport, EditState, EditStatus, HostEdits, PatchReport, ProblemKind};

use crate::page::Page;
use crate::prose::{clean, count};
use crate::style::{Role, Style};

/// So many undone edits are listed; a screen holds no more.
const UNDONE: usize = 8;
/// So many problems and notes are listed.
const LISTED: usize = 20;

/// Renders the state of edits on disk; `command` is what its verbs are typed after, such as `bystander patch`.
#[must_use]
pub fn patch_text(report: &PatchReport, style: &Style, command: &str) -> String {
    let mut page = Page::new(style);
    let of = |state| report.edits.iter().filter(|edit| edit.state == state).count();
    let (live, stuck) = (of(EditState::Live), of(EditState::Conflict));
    let searched =
        report.searched_files.map(|files| format!(" {} searched.", count(usize::try_from(files).unwrap_or(usize::MAX), "file", "files")));
    let searched = searched.unwrap_or_default();
    let (role, verdict) = if report.clean {
        // What was not asked is no part of what is clean.
        let here = if report.hosts.iter().all(|host| host.asked) { "" } else { " on this machine" };
        (Role::Good, format!("Clean: no edit is live, in conflict or left behind{here}.{searched}"))
    } else {
        let found = count(report.problems.len(), "problem", "problems");
        let here = format!("{} live, {stuck} in conflict, {found}.{searched}", count(live, "edit", "edits"));
        match (elsewhere(report), live + stuck + report.problems.len()) {
            (Some(elsewhere), 0) => {
                (Role::Bad, format!("NOT clean: {elsewhere}. On this machine no edit is live or in conflict.{searched}"))
            }
            (Some(elsewhere), _) => (Role::Bad, format!("NOT clean: {here} Elsewhere: {elsewhere}.")),
            (None, 0) if !report.notes.is_empty() => (Role::Bad, format!("NOT clean: see the notes; no edit is live.{searched}")),
            (None, _) => (Role::Bad, format!("NOT clean: {here}")),
        }
    };
    page.led(&verdict, Some(role), 0, "");
    edits(&mut page, report);
    problems(&mut page, report);
    if !report.notes.is_empty() {
        page.heading("Notes");
        for note in report.notes.iter().take(LISTED) {
            let file = note.file.as_ref().map(|file| format!("{}: ", clean(&file.to_string_lossy()))).unwrap_or_default();
            page.led(&format!("  {file}"), None, 4, &clean(&note.text));
        }
        more(&mut page, report.notes.len());
    }
    if !report.unseen.is_empty() {
        page.heading("Not seen");
        for unseen in &report.unseen {
            let text =
                format!("{}: {}; whether this user has live edits is not known", clean(&unseen.home.to_string_lossy()), clean(&unseen.why));
            page.led(&format!("  {}: ", clean(&unseen.user)), None, 4, &text);
        }
    }
    let mut out = page.finish();
    if let Some(newest) = report.edits.iter().rfind(|edit| edit.state == EditState::Live) {
        let which = if live == 1 { "it" } else { "the newest" };
        out.push_str(&format!(
            "\nnext: `{command} diff` shows what is live, `{command} revert {}` takes {which} back\n",
            clean(&newest.id)
        ));
    }
    out
}

/// What other machines hold, or may hold; `None` where they are clean, or there are none.
fn elsewhere(report: &PatchReport) -> Option<String> {
    let on = |host: &HostEdits| {
        let live = on_disk(host);
        let machine = addresses(host);
        match (host.is_clean(), host.live().next().is_some(), host.asked && host.unreachable.is_none()) {
            (true, ..) => None,
            (false, true, true) => Some(format!("{live} on {machine}")),
            (false, true, false) => Some(format!("{live} on {machine} when it was last asked")),
            (false, false, true) => Some(format!("{machine} is not clean")),
            (false, false, false) => Some(format!("{machine} cannot be asked now")),
        }
    };
    let found: Vec<String> = report.hosts.iter().filter_map(on).collect();
    (!found.is_empty()).then(|| found.join("; "))
}

/// How many edits are on disk there, such as "2 edits live, 1 in conflict".
fn on_disk(host: &HostEdits) -> String {
    let stuck = host.live().filter(|edit| edit.state == EditState::Conflict).count();
    match (host.live().count() - stuck, stuck) {
        (live, 0) => format!("{} live", count(live, "edit", "edits")),
        (0, stuck) => format!("{} in conflict", count(stuck, "edit", "edits")),
        (live, stuck) => format!("{} live, {stuck} in conflict", count(live, "edit", "edits")),
    }
}

/// A machine by every address that it is known by.
fn addresses(host: &HostEdits) -> String {
    let also: Vec<String> = host.also.iter().map(|address| clean(address)).collect();
    let also = if also.is_empty() { String::new() } else { format!(" (also {})", also.join(", ")) };
    format!("{}{also}", clean(&host.address))
}

/// Renders the state of edits on another machine, below those of this one.
#[must_use]
pub fn host_text(host: &HostEdits, style: &Style) -> String {
    let machine = addresses(host);
    let seen = host.as_of.as_deref().map(second);
    let heading = match (&host.unreachable, &seen) {
        (None, _) if host.asked => format!("on {machine}:"),
        (None, None) => return format!("\non {machine}: not asked, and never seen; `{} status` asks it\n", host.command),
        (None, Some(seen)) if host.live().next().is_none() => {
            return format!("\non {machine}: not asked; no edit was live there as of {seen}; `{} verify` proves it\n", host.command);
        }
        (None, Some(seen)) => format!("on {machine}, which was not asked; as of {seen}:"),
        (Some(why), Some(seen)) => format!("on {machine}, which cannot be asked now ({}); as of {seen}:", clean(why)),
        (Some(why), None) => return format!("\non {machine}: unknown; it cannot be asked now ({})\n", clean(why)),
    };
    format!("\n{heading}\n{}", patch_text(&host.report, style, &host.command))
}

/// Where else edits are live, as it was last seen: a line for each machine, with the verb that goes on with them; empty where nothing is known to be live.
#[must_use]
pub fn live_elsewhere(hosts: &[HostEdits], verb: &str) -> String {
    let line = |host: &HostEdits| {
        let any = host.live().next().is_some();
        let seen = host.as_of.as_deref().map(|time| format!(", when it was last asked at {}", second(time))).unwrap_or_default();
        any.then(|| format!("on {}: {}{seen}: `{} {verb}`\n", addresses(host), on_disk(host), host.command))
    };
    hosts.iter().filter_map(line).collect()
}

fn problems(page: &mut Page<'_>, report: &PatchReport) {
    if report.problems.is_empty() {
        return;
    }
    page.heading("Problems");
    for problem in report.problems.iter().take(LISTED) {
        let head = format!("  {} ({}): ", clean(&problem.file.to_string_lossy()), kind(problem.kind));
        page.led(&head, Some(Role::Bad), 4, &clean(&problem.text));
    }
    more(page, report.problems.len());
}

fn more(page: &mut Page<'_>, all: usize) {
    if all > LISTED {
        page.indented(&format!("{} more: --json has them all", all - LISTED));
    }
}

/// Every edit that is on disk, and the last that were undone.
fn edits(page: &mut Page<'_>, report: &PatchReport) {
    let undone = report.edits.iter().filter(|edit| edit.state == EditState::Reverted).count();
    let mut hidden = undone.saturating_sub(UNDONE);
    let listed: Vec<&EditStatus> = report
        .edits
        .iter()
        .filter(|edit| {
            let hide = edit.state == EditState::Reverted && hidden > 0;
            hidden -= usize::from(hide);
            !hide
        })
        .collect();
    if listed.is_empty() {
        return;
    }
    page.heading("Edits");
    let header = ["name", "state", "file", "made", "expires", "by", "id"].map(str::to_owned);
    let row = |edit: &&EditStatus| {
        let stays = if edit.kept { "never" } else { "with its trial" };
        let expires = edit.expires.as_deref().unwrap_or(stays);
        let (made, expires) = (second(&edit.made), second(expires));
        let texts = [&edit.name, word(edit.state), &edit.file.to_string_lossy(), &made, &expires, &edit.by, &edit.id];
        texts.iter().map(|text| clean(text)).collect()
    };
    page.table(1, &header, &listed.iter().map(row).collect::<Vec<Vec<String>>>());
    if undone > UNDONE {
        page.indented(&format!("{} older ones, undone: --json lists them", undone - UNDONE));
    }
}

/// A time to the second, with its zone; a word is left as it is.
#[must_use]
pub fn second(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(second, _)| format!("{second}Z"))
}

/// Renders what was found in what is staged for a commit.
#[must_use]
pub fn staged_text(report: &PatchReport, style: &Style) -> String {
    let mut page = Page::new(style);
    if report.clean {
        page.led("Clean: no edit is staged.", Some(Role::Good), 0, "");
    } else {
        page.led(&format!("NOT clean: {} in what is staged.", count(report.problems.len(), "edit", "edits")), Some(Role::Bad), 0, "");
        problems(&mut page, report);
    }
    page.finish()
}

/// Renders what `patch revert` took back; `live` edits are left in other state directories of this machine, and `command` is what its verbs are typed after.
#[must_use]
pub fn revert_text(report: &PatchReport, live: usize, style: &Style, command: &str) -> String {
    let mut page = Page::new(style);
    let (role, verdict) = match report.edits.len() {
        0 if report.hosts.is_empty() => (None, "Nothing to take back.".to_owned()),
        0 => (None, "Nothing to take back on this machine.".to_owned()),
        some => (Some(Role::Good), format!("Taken back: {}.", count(some, "edit", "edits"))),
    };
    page.led(&verdict, role, 0, "");
    edits(&mut page, report);
    let mut out = page.finish();
    if live > 0 {
        out.push_str(&format!(
            "\n{} left live or in conflict: `{command} status` lists what is on disk\n",
            count(live, "other edit is", "other edits are")
        ));
    }
    out + &live_elsewhere(&report.hosts, "revert")
}

/// Renders what `patch apply` did, or would do; `command` is what its verbs are typed after.
#[must_use]
pub fn apply_text(report: &ApplyReport, style: &Style, command: &str) -> String {
    let mut page = Page::new(style);
    let files = report.edits.iter().map(|edit| &edit.file).collect::<std::collections::BTreeSet<_>>().len();
    let what = format!("{} in {}", count(report.edits.len(), "edit", "edits"), count(files, "file", "files"));
    let verdict =
        if report.made { format!("Made: {what}, read back and proven.") } else { format!("Would be made: {what}; nothing was written.") };
    page.led(&verdict, Some(Role::Good), 0, "");
    for edit in &report.edits {
        let place = match edit.lines.end.saturating_sub(edit.lines.start) {
            0 => format!("before line {}", edit.lines.start),
            1 => format!("line {}", edit.lines.start),
            _ => format!("lines {} to {}", edit.lines.start, edit.lines.end - 1),
        };
        let moved = match edit.moved_lines {
            0 => "line numbers hold".to_owned(),
            by => {
                let lines = count(usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX), "line", "lines");
                format!("what is behind moved {} by {lines}", if by > 0 { "down" } else { "up" })
            }
        };
        let mark = if edit.marked {
            ""
        } else {
            "; without a mark, as its language is not known or has no room for a comment there: `patch verify` knows it by its text"
        };
        let text = format!("{}, {place}; {moved}{mark}", clean(&edit.file.to_string_lossy()));
        page.led(&format!("  {} ({}): ", clean(&edit.name), clean(&edit.id)), None, 4, &text);
    }
    let mut out = page.finish();
    for edit in report.edits.iter().take(LISTED).filter(|_| !report.made) {
        out.push_str(&shown(&edit.diff));
    }
    if report.made {
        let ids: Vec<&str> = report.edits.iter().map(|edit| edit.id.as_str()).collect();
        let by_itself = report.expires.as_deref().map(|at| format!("; by itself at {}", second(at))).unwrap_or_default();
        out.push_str(&format!("take back: {command} revert {}{by_itself}\n", ids.join(" ")));
    }
    out
}

/// Renders live edits as unified diffs.
#[must_use]
pub fn diff_text(report: &DiffReport, _style: &Style) -> String {
    let mut out = String::new();
    for edit in &report.edits {
        let changed = if edit.changed { ", the file has changed since" } else { "" };
        out.push_str(&format!("# edit {} ({}){changed}\n{}", clean(&edit.name), clean(&edit.id), shown(&edit.text)));
    }
    match (report.edits.is_empty(), report.hosts.is_empty()) {
        (true, true) => "No edit is live.\n".to_owned(),
        (true, false) => "No edit is live on this machine.\n".to_owned(),
        (false, _) => out,
    }
}

/// A diff without what could steer a terminal.
fn shown(diff: &str) -> String {
    diff.chars().map(|letter| if letter.is_control() && !matches!(letter, '\n' | '\t' | '\r') { '\u{fffd}' } else { letter }).collect()
}

const fn word(state: EditState) -> &'static str {
    match state {
        EditState::Live => "live",
        EditState::Reverted => "reverted",
        EditState::Conflict => "conflict",
    }
}

const fn kind(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Marker => "inserted text is still there",
        ProblemKind::Bytes => "bytes differ",
        ProblemKind::Metadata => "metadata differs",
        ProblemKind::Bytecode => "bytecode is left",
        ProblemKind::Build => "something was built from it",
    }
}
