//! The only place that prints. Standard output is data, standard error is talk.

mod finding;
mod hits;
mod memory;
mod owners;
mod places;
mod plan;
mod progress;
mod remote;
mod runs;
mod samples_file;
mod stopping;
mod text;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bystander_lab::ledger::{Ledger, TrialRecord};
use bystander_lab::live::Live;
use bystander_lab::place::Checkup;
use bystander_lab::plan::Plan;
use bystander_lab::provenance::Difference;
use bystander_model::FORMAT;
use bystander_model::archive::Manifest;
use bystander_model::diagnostic::Diagnostic;
use bystander_model::ids::{RunId, TimeNs};
use bystander_model::memory::{Explained, Planned, WatchedMemory};
use bystander_model::patch::{ApplyReport, DiffReport, HostEdits, PatchReport};
use bystander_model::printed::{DoctorReport, ErrorKind, ErrorReport, ErrorSaid, Finding, ListedRun, RunList, TrialDiff, TrialDifference};
use bystander_model::report::Report;
use bystander_model::typed::{self, quoted};
use bystander_model::watch::{WatchStart, WatchSummary};

use bystander_probe::FilePlaces;
use bystander_report::{Again, Style};
use bystander_supervise::memory_watch::GpusHere;

use crate::commands::Place;
use crate::failure::{Failure, Kind, exit};

pub(crate) use hits::{Hits, HitsTo, ReadBack, RecordedHits};
pub(crate) use memory::{MemoryLive, ProgramWords};
pub(crate) use owners::users;
pub(crate) use progress::Progress;
pub(crate) use remote::{
    clock, clock_here, counts_as, is_far, lease_over, lease_words, machine_here, note_clock, on_machine, other_state, print_as_told,
};
pub(crate) use samples_file::SamplesFile;
pub(crate) use stopping::Voice;

/// Lines are no wider than this where there is no terminal to ask.
const WIDTH: usize = 120;
/// A terminal that says to be narrower than this is not believed.
const NARROWEST: usize = 20;

/// Where answers and talk go.
pub(crate) struct Output {
    json: bool,
    /// Whether the one JSON object of this command was printed.
    answered: bool,
    lost: Option<io::Error>,
    voice: Voice,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, answered: false, lost: None, voice: Voice::default() }
    }

    fn style(&self, to: &(impl io::IsTerminal + std::os::fd::AsFd)) -> Style {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if let Some(told) = remote::told() {
            return told.style;
        }
        let colour = to.is_terminal() && !dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // What the user says comes before what the terminal says; where there is none, a width that a page can hold.
        let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let seen = || rustix::termios::tcgetwinsize(to).ok().filter(|_| to.is_terminal()).map(|size| usize::from(size.ws_col));
        let width = said.or_else(seen).filter(|columns| *columns >= NARROWEST).unwrap_or(WIDTH);
        Style { width, colour, ..Style::default() }
    }

    /// Prints data. A reader that went away is no error: there is nobody left to tell. Anything else is: see [`Output::lost`].
    fn data(&mut self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(bytes).and_then(|()| stdout.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.get_or_insert(error);
        }
    }

    /// Why data that a command printed did not arrive, if it did not.
    pub(crate) fn lost(&mut self) -> Option<Failure> {
        let error = self.lost.take()?;
        Some(
            Failure::environment("failed to write the answer to standard output")
                .because(&error)
                .hint(format!("`{}` prints the results of a run again", typed::here("show"))),
        )
    }

    fn json(&mut self, value: &impl serde::Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.data(format!("{text}\n").as_bytes()),
            // Every type that is printed has a form in JSON; a path that is no text is the one thing that can have none.
            Err(error) => drop(self.lost.get_or_insert(io::Error::other(error))),
        }
    }

    /// Prints what came of built-in traffic, in one line.
    pub(crate) fn traffic(&mut self, summary: &bystander_model::traffic::Summary) {
        self.json(&serde_json::to_value(summary).unwrap_or_default());
    }

    /// Says something to the person who watches.
    pub(crate) fn say(&self, text: &str) {
        talk(text);
    }

    /// Prints a run.
    pub(crate) fn report(&mut self, report: &Report, why: Option<Option<&str>>, place: &Place) {
        let why = why.is_some();
        if self.json {
            self.answered = true;
            let mut report = report.clone();
            if !why {
                // Environments and packages of every launch are more than the rest together.
                report.trials.iter_mut().for_each(|trial| trial.provenance = None);
            }
            self.data(&bystander_report::json(&report));
            self.data(b"\n");
            return;
        }
        let style = self.style(&io::stdout());
        let (shown, option, lies) = match place {
            Place::State(state) => (report.run.clone(), state_option(state.path()), state.path()),
            Place::Archive(file) => (quoted(file), String::new(), file.as_path()),
        };
        let patch = remote::patch_where_it_ran(report, place);
        let again = Again { run: &shown, option: &option, within: place.word(), patch: &patch };
        let text =
            if why { bystander_report::why_again(report, &style, &patch) } else { bystander_report::text_again(report, &style, &again) };
        self.data(text.as_bytes());
        let why = if why { "" } else { " --why" };
        if remote::told().is_some() {
            // The record goes where this is shown, and is told from there.
            return;
        }
        self.say(&format!("record: {} (bystander show {shown}{why}{option})", lies.display()));
    }

    /// Prints the way from one answer to its evidence; tells whether there is such an answer.
    pub(crate) fn answer(&mut self, report: &Report, name: &str) -> bool {
        let style = self.style(&io::stdout());
        let Some(text) = bystander_report::why_of(report, name, &style) else { return false };
        if self.json {
            let report = bystander_report::only(report, name);
            self.answered = true;
            self.data(&bystander_report::json(&report));
            self.data(b"\n");
        } else {
            self.data(text.as_bytes());
        }
        true
    }

    /// Prints what `patch` found.
    pub(crate) fn patch(&mut self, report: &PatchReport) {
        let report = &*remote::edits_by_reader(report);
        if self.json {
            return self.json(report);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::patch_text(&owners::named(report), &style, &typed::there("patch")).as_bytes());
        for host in &report.hosts {
            let host = HostEdits { report: Box::new(owners::named(&host.report)), ..host.clone() };
            self.data(bystander_report::host_text(&host, &style).as_bytes());
        }
    }

    /// Prints what is staged for a commit.
    pub(crate) fn staged(&mut self, report: &PatchReport) {
        if self.json {
            return self.patch(report);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::staged_text(report, &style).as_bytes());
    }

    /// Prints what `patch revert` took back; so many other edits are live.
    pub(crate) fn reverted(&mut self, report: &PatchReport, live: usize) {
        if self.json {
            return self.patch(report);
        }
        let report = &*remote::edits_by_reader(report);
        let style = self.style(&io::stdout());
        self.data(bystander_report::revert_text(&owners::named(report), live, &style, &typed::there("patch")).as_bytes());
    }

    /// Prints what `patch apply` did.
    pub(crate) fn applied(&mut self, report: &ApplyReport) {
        let report = &*remote::applied_by_reader(report);
        if self.json {
            return self.json(report);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::apply_text(report, &style, &typed::there("patch")).as_bytes());
    }

    /// Prints live edits as differences.
    pub(crate) fn edit_diffs(&mut self, report: &DiffReport) {
        if self.json {
            return self.json(report);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::diff_text(report, &style).as_bytes());
        self.live_elsewhere(&report.hosts, "diff");
    }

    /// Says where else edits are live, with the verb that goes on with them.
    pub(crate) fn live_elsewhere(&self, hosts: &[HostEdits], verb: &str) {
        let text = bystander_report::live_elsewhere(hosts, verb);
        if !text.is_empty() {
            self.say(&text);
        }
    }

    /// Shows problems with places in files.
    pub(crate) fn problems(&mut self, problems: &[Diagnostic]) {
        if !problems.is_empty() {
            self.say(&self.rendered(problems, &BTreeMap::new()));
        }
    }

    fn rendered(&self, problems: &[Diagnostic], known: &BTreeMap<PathBuf, String>) -> String {
        let mut sources = known.clone();
        for file in problems.iter().filter_map(|problem| problem.file.clone()) {
            // A file that cannot be read any more is named without its text.
            if !sources.contains_key(&file)
                && let Ok(text) = std::fs::read_to_string(remote::lies_at(&file))
            {
                sources.insert(file, text);
            }
        }
        bystander_report::diagnostics(problems, &sources, &self.style(&io::stderr()))
    }

    /// Says why a command could not do what it was asked.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        // A run that stopped with trouble has printed its report, which says so; one object is all that a command prints.
        if self.json && !self.answered {
            let kind = match failure.kind {
                Kind::User => ErrorKind::User,
                Kind::Environment => ErrorKind::Environment,
                Kind::Interrupted => ErrorKind::Interrupted,
            };
            let (message, causes, hints) = (failure.message.clone(), failure.causes.clone(), failure.hints.clone());
            let error = ErrorSaid { kind, message, causes, hints, problems: failure.problems.clone() };
            self.json(&ErrorReport { format: FORMAT, error });
        }
        if !failure.problems.is_empty() {
            self.say(&self.rendered(&failure.problems, &failure.sources.0));
        }
        // What a command prints there stands on a screen here.
        let on = remote::told().map_or_else(String::new, |told| format!("on {}: ", told.address()));
        self.say(&format!("error: {on}{}", said(failure)));
    }

    /// Says why an answer is not what it could be, beside the answer.
    pub(crate) fn advice(&self, failure: &Failure) {
        self.say(&said(failure));
    }

    /// Prints what a dry run decided.
    pub(crate) fn plan(&mut self, plan: &Plan, checkup: &Checkup, power: &[String]) {
        if self.json {
            return self.json(&plan::dry_run(plan, checkup, power));
        }
        self.data(plan::text(plan, checkup, power).as_bytes());
    }

    /// Announces a run.
    pub(crate) fn begin(&mut self, plan: &Plan, checkup: &Checkup, power: &[String], run: &RunId, resumed: Option<&Ledger>) {
        self.say(&plan::headline(plan, run, resumed));
        self.say(&plan::body(plan, checkup, power));
    }

    /// What may be heard from another thread while something is drawn.
    pub(crate) fn voice(&self) -> Voice {
        self.voice.clone()
    }

    /// Shows what happens while it happens.
    pub(crate) fn progress(&self, plan: &Plan, live: &Live, resumed: Option<&Ledger>) -> Progress {
        Progress::new(plan, live, resumed, self.voice.clone())
    }

    /// Prints the places of a file.
    pub(crate) fn places(&mut self, places: &FilePlaces, lines: bool) {
        if self.json {
            return self.json(&places::json(places));
        }
        self.data(places::text(places, lines).as_bytes());
    }

    /// Says what is watched, and where each probe goes.
    pub(crate) fn watching(&self, start: &WatchStart) {
        self.say(&bystander_report::watch_places(start, &self.style(&io::stderr())));
    }

    /// The way of hits to standard output, or to a file.
    pub(crate) fn hits(&mut self, to: Option<HitsTo>, names: Vec<String>, read_back: ReadBack) -> Hits {
        Hits::start(to, self.json, names, self.style(&io::stdout()), read_back)
    }

    /// The way of recorded hits to standard output.
    pub(crate) fn recorded_hits(&mut self, started: TimeNs, names: Vec<String>) -> RecordedHits {
        self.answered = true;
        RecordedHits::new(started, self.json, names, self.style(&io::stdout()))
    }

    /// Says what came of a watched command; as JSON it is among the hits already.
    pub(crate) fn watched(&mut self, summary: &WatchSummary, state: &Path) {
        let again = format!("bystander show {}{}", summary.run, state_option(state));
        if self.json {
            self.answered = true;
            return self.say(&format!("recorded: {again}"));
        }
        self.say(&bystander_report::watch_text(summary, &self.style(&io::stderr()), &again));
    }

    /// Prints what came of a watched command that is shown again.
    pub(crate) fn watched_again(&mut self, summary: &WatchSummary) {
        if self.json {
            self.answered = true;
            return self.data(&bystander_report::summary_json(summary));
        }
        self.say(&bystander_report::watch_text(summary, &self.style(&io::stderr()), ""));
    }

    /// Prints what two trials differ in.
    pub(crate) fn differences(&mut self, first: &TrialRecord, second: &TrialRecord, differences: &[Difference]) {
        if self.json {
            let said = |d: &Difference| TrialDifference {
                what: d.what.clone(),
                first: d.first.clone(),
                second: d.second.clone(),
                planned: d.planned,
            };
            let differences = differences.iter().map(said).collect();
            return self.json(&TrialDiff { format: FORMAT, first: first.id, second: second.id, differences });
        }
        self.data(plan::differences(first, second, differences).as_bytes());
    }

    /// Prints where the memory of servers went.
    pub(crate) fn memory_explained(&mut self, explained: &Explained) {
        if self.json {
            self.answered = true;
            return self.json(explained);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::memory_explain_text(explained, &style).as_bytes());
    }

    /// Prints a plan of memory.
    pub(crate) fn memory_plan(&mut self, planned: &Planned) {
        if self.json {
            return self.json(planned);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::memory_plan_text(planned, &style).as_bytes());
    }

    /// Says what can be told of GPUs here, and shows what is held from now on.
    pub(crate) fn memory_live(&self, here: &GpusHere) -> MemoryLive {
        if !here.absent.is_empty() {
            self.say(&format!("nothing can be told of GPUs here: {}; the memory of the host is watched", here.absent.join(": ")));
        }
        MemoryLive::new()
    }

    /// Prints what a watch of memory has seen.
    pub(crate) fn memory_watched(&mut self, watched: &WatchedMemory) {
        if self.json {
            self.answered = true;
            return self.json(watched);
        }
        let style = self.style(&io::stdout());
        self.data(bystander_report::memory_watch_text(watched, &style).as_bytes());
    }

    /// Prints what `doctor` found.
    pub(crate) fn findings(&mut self, findings: &[Finding]) {
        if self.json {
            return self.json(&DoctorReport { format: FORMAT, findings: findings.to_vec(), on: machine_here() });
        }
        self.data(findings.iter().map(finding::line).collect::<String>().as_bytes());
    }

    /// Prints a list of runs.
    pub(crate) fn runs(&mut self, runs: &[ListedRun]) {
        if self.json {
            return self.json(&RunList { format: FORMAT, runs: runs.to_vec() });
        }
        let stdout = io::stdout();
        // Who reads a file or a pipe gets whole lines.
        let width = if stdout.is_terminal() { self.style(&stdout).width } else { usize::MAX };
        self.data(runs::list(runs, width).as_bytes());
    }

    /// Says what was exported.
    pub(crate) fn exported(&mut self, manifest: &Manifest, to: &Path) {
        if self.json {
            return self.json(manifest);
        }
        let size = std::fs::metadata(to).map_or(0, |file| file.len());
        self.data(runs::exported(manifest, to, size).as_bytes());
    }
}

/// What failed, why, and what to do.
fn said(failure: &Failure) -> String {
    let causes = failure.causes.iter().map(|cause| format!("\n  because: {cause}"));
    let hints = failure.hints.iter().map(|hint| format!("\n  next: {hint}"));
    std::iter::once(failure.message.clone()).chain(causes).chain(hints).collect()
}

/// Writes a line to standard error. A reader that went away is no error: there is nobody left to tell.
fn talk(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}", text.trim_end());
}

/// Says what is wrong with a command line; help and version are answers, not errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let message = error.render().to_string();
        Output::new(true).failure(&Failure::user(message.trim_end().trim_start_matches("error: ")));
        return ExitCode::from(exit::USAGE);
    }
    // Nobody is left to tell where the terminal went away.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS }
}

/// The option that a command must be given to find a state directory from here; nothing where it looks there by itself.
pub(crate) fn state_option(state: &Path) -> String {
    if let Some(told) = remote::told() {
        return told.again.clone();
    }
    let here = std::env::current_dir().ok();
    let absolute = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    let real = absolute.canonicalize().unwrap_or_else(|_| absolute.clone());
    let found = bystander_store::StateDir::find(Path::new("."));
    // One that is not made yet will be the nearest.
    let nearest = here.as_deref().is_some_and(|here| absolute == here.join(bystander_store::state::STATE_NAME));
    if nearest || found.is_ok_and(|found| found.is_some_and(|found| found.path() == real)) {
        return String::new();
    }
    let near = here.as_deref().and_then(|here| absolute.strip_prefix(here).ok()).unwrap_or(&absolute);
    format!(" --state {}", quoted(near))
}
