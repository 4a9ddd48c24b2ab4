//! What is printed on another machine than the one whose screen shows it.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use bystander_host::remote::clock::Offset;
use bystander_host::remote::message::Screen;
use bystander_host::remote::mirror::RanOn;
use bystander_model::elsewhere::OnMachine;
use bystander_model::hit::Hit;
use bystander_model::ids::RunId;
use bystander_model::patch::{ApplyReport, PatchReport};
use bystander_model::report::Report;
use bystander_model::typed;
use bystander_report::Style;
use bystander_store::StateDir;
use jiff::{SignedDuration, Timestamp};

use super::{NARROWEST, Output, WIDTH};
use crate::commands::{Place, way_to};

/// The screen that another machine has told, where what is printed goes to it.
static TOLD: OnceLock<Told> = OnceLock::new();

/// A file that was sent, by the path that it counts as.
static SENT: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();

/// From now on a file of this path is shown from where its copy lies.
pub(crate) fn counts_as(path: &Path, copy: &Path) {
    // There is one file that is sent.
    let _already = SENT.set((path.to_owned(), copy.to_owned()));
}

/// Where the text of a file is read.
pub(super) fn lies_at(file: &Path) -> &Path {
    SENT.get().filter(|(path, _)| path == file).map_or(file, |(_, copy)| copy)
}

/// What another machine has told.
pub(super) struct Told {
    /// How its screen shows text.
    pub(super) style: Style,
    /// What follows `bystander show RUN` there.
    pub(super) again: String,
    /// The machine here, as it is named there.
    on: OnMachine,
    /// How far the clock here is from the one there.
    clock: Offset,
    /// A file that is there once the lease of this command is over, with the length of that in seconds.
    lease_over: PathBuf,
}

impl Told {
    /// The machine here, as it is typed there.
    pub(super) fn address(&self) -> &str {
        &self.on.address
    }
}

/// From now on everything is printed for the screen of another machine, by the clock there, and with commands that are typed there.
pub(crate) fn print_as_told(screen: Screen, lease_over: PathBuf) {
    let Screen { columns, colour, again, way, address, clock } = screen;
    let width = columns.filter(|columns| *columns >= NARROWEST).unwrap_or(WIDTH);
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    typed::reach(typed::Reach { there: way, here: again.clone() });
    let on = OnMachine { address, machine, clock_ahead_ns: clock.ahead_ns, clock_error_ns: clock.error_ns };
    // The first word holds: there is one screen.
    let _already = TOLD.set(Told { style: Style { width, colour, ..Style::default() }, again, on, clock, lease_over });
}

/// Where a run ran, as it is told.
pub(crate) fn on_machine(ran: &RanOn) -> OnMachine {
    let (address, machine) = (ran.address.clone(), ran.machine.clone());
    OnMachine { address, machine, clock_ahead_ns: ran.offset.ahead_ns, clock_error_ns: ran.offset.error_ns }
}

/// What verbs of `patch` are typed after so that they work where a run ran.
pub(super) fn patch_where_it_ran(report: &Report, place: &Place) -> String {
    match (&report.on, place) {
        (None, _) => typed::there("patch"),
        (Some(on), Place::State(state)) => typed::at(&way_to(state, &on.address), "patch"),
        (Some(on), Place::Archive(_)) => typed::at(&format!(" --on {}", typed::quoted(&on.address)), "patch"),
    }
}

/// The machine here, where what is printed goes to another one.
pub(crate) fn machine_here() -> Option<OnMachine> {
    told().map(|told| told.on.clone())
}

/// How far the clock here is from the reader's, where that is another one.
pub(crate) fn clock_here() -> Option<Offset> {
    told().map(|told| told.clock)
}

/// What to do about a state directory that cannot be written to: one on another machine is not the one that `--state` names.
pub(crate) fn other_state() -> &'static str {
    match told() {
        Some(_) => "set XDG_STATE_HOME there to a directory that can be written to",
        None => "name a directory that can be written to with --state DIR",
    }
}

/// Whether this command was typed on another machine.
pub(crate) fn is_far() -> bool {
    told().is_some()
}

/// Why this command is told to end, where nobody has told it to: its lease is over.
pub(crate) fn lease_over() -> Option<String> {
    let seconds = std::fs::read_to_string(&told()?.lease_over).ok()?.trim().parse().ok()?;
    Some(lease_words(Duration::from_secs(seconds)))
}

/// What is said of a lease of some length that is over.
pub(crate) fn lease_words(lease: Duration) -> String {
    let seconds = lease.as_secs();
    let length = match seconds {
        _ if seconds == 0 || !seconds.is_multiple_of(60) => format!("{seconds} s"),
        _ if !seconds.is_multiple_of(3600) => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    };
    format!("its lease of {length} was over, since nobody was connected for so long")
}

/// What was told.
pub(super) fn told() -> Option<&'static Told> {
    TOLD.get()
}

/// Notes in the folder of a new run how far the clock here is from the reader's, where that is another one.
pub(crate) fn note_clock(state: &StateDir, run: &RunId) {
    if let Some(told) = told() {
        // Without a note the record is given the times by what is known when it is read.
        let _noted = told.clock.note(&state.run_dir(run));
    }
}

/// Hits with times by the reader's clock.
pub(super) fn hits_by_reader(hits: &[Hit]) -> Cow<'_, [Hit]> {
    let Some(told) = told() else { return Cow::Borrowed(hits) };
    hits.iter().map(|hit| Hit { time_ns: told.clock.here(hit.time_ns), ..hit.clone() }).collect()
}

/// A time here in RFC 3339 by the reader's clock; what is none stays.
fn text_by_reader(time: &mut String) {
    if let (Some(told), Ok(at)) = (told(), time.parse::<Timestamp>()) {
        *time = at.saturating_sub(SignedDuration::from_nanos(told.clock.ahead_ns)).map_or_else(|_| time.clone(), |at| at.to_string());
    }
}

/// Live edits with times by the reader's clock.
pub(super) fn edits_by_reader(report: &PatchReport) -> Cow<'_, PatchReport> {
    if told().is_none() {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    report.edits.iter_mut().for_each(|edit| {
        text_by_reader(&mut edit.made);
        edit.expires.iter_mut().for_each(text_by_reader);
    });
    Cow::Owned(report)
}

/// What was made, with its end by the reader's clock.
pub(super) fn applied_by_reader(report: &ApplyReport) -> Cow<'_, ApplyReport> {
    if told().is_none() {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    report.expires.iter_mut().for_each(text_by_reader);
    Cow::Owned(report)
}

impl Output {
    /// The screen here: columns, and whether it shows colours.
    pub(crate) fn screen(&self) -> (Option<usize>, bool) {
        let style = self.style(&io::stdout());
        (Some(style.width), style.colour)
    }

    /// Says where a run ran that was not made here.
    pub(crate) fn ran_on(&self, ran: &RanOn) {
        self.say(&format!("ran on {} ({}); its clock: {}", ran.address, ran.machine, clock(ran.offset)));
    }

    /// Prints what was printed on another machine, as it is: on standard output, or on standard error.
    pub(crate) fn passed_on(&mut self, is_data: bool, bytes: &[u8]) {
        if is_data {
            self.answered |= !bytes.is_empty();
            self.data(bytes);
        } else {
            // Nobody reads what is only said: there is nobody to tell.
            let _unread = io::stderr().lock().write_all(bytes);
        }
    }
}

/// How far another clock is from the one here, in words.
pub(crate) fn clock(offset: Offset) -> String {
    let (ahead, error) = (offset.ahead_ns as f64 / 1e6, offset.error_ns as f64 / 1e6);
    if offset.ahead_ns.unsigned_abs() <= offset.error_ns {
        return format!("the same as here to {error:.1} ms");
    }
    let (far, word) = (ahead.abs(), if ahead > 0.0 { "ahead of" } else { "behind" });
    if far < 1000.0 {
        format!("{far:.1} ms {word} the one here (to {error:.1} ms)")
    } else {
        format!("{:.3} s {word} the one here (to {error:.1} ms)", far / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use bystander_host::remote::clock::Offset;

    use std::time::Duration;

    use super::{clock, lease_words};

    #[test]
    fn a_lease_is_told_by_the_longest_unit_that_is_whole() {
        let told = |seconds| lease_words(Duration::from_secs(seconds));
        assert_eq!(told(90), "its lease of 90 s was over, since nobody was connected for so long");
        assert!(told(1800).contains(" 30 min ") && told(7200).contains(" 2 h ") && told(10).contains(" 10 s "));
    }

    #[test]
    fn an_offset_is_told_with_its_error_and_only_where_it_is_more() {
        let told = |ahead_ns, error_ns| clock(Offset { ahead_ns, error_ns });
        assert_eq!(told(40_000, 200_000), "the same as here to 0.2 ms");
        assert_eq!(told(-2_500_000, 200_000), "2.5 ms behind the one here (to 0.2 ms)");
        assert_eq!(told(3_600_000_400_000, 400_000), "3600.000 s ahead of the one here (to 0.4 ms)");
    }
}
