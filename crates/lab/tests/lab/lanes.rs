//! Lanes: trials of one block at the same time, never of two, in an order and in lanes that the seed alone gives, whatever happens meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use bystander_lab::conduct;
use bystander_lab::ledger::Ledger;
use bystander_lab::place::{Checkup, Emit, Place, TrialOrder};
use bystander_lab::plan::{Lane, Plan};
use bystander_lab::step::{self, Step};
use bystander_model::edit::{AppliedEdit, RevertedEdit};
use bystander_model::event::{Event, EventBody, FileProof, Origin, Purpose, RunEnd, Slot, TrialEnd};
use bystander_model::ids::{RunId, TimeNs, TrialId};
use bystander_model::outcome::Outcome;
use indexmap::IndexMap;
use proptest::prelude::*;

use crate::scripted::{Kept, create, plan};

/// How long a trial waits for its companions before the test gives up.
const LIMIT: Duration = Duration::from_secs(60);

fn with_lanes(mut plan: Plan, lanes: usize) -> Plan {
    plan.lanes = vec![Lane::default(); lanes];
    plan
}

/// A place whose trials meet: each waits until as many run as its block lets run at the same time.
struct Meeting {
    lanes: usize,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    running: BTreeMap<TrialId, Slot>,
    /// Blocks whose first trials in every lane have met.
    met: BTreeSet<u32>,
    mixed: bool,
    most: usize,
    given_up: bool,
    interrupt_when: Option<usize>,
    asked: bool,
}

impl Meeting {
    fn new(lanes: usize) -> Self {
        Self { lanes, state: Mutex::default(), moved: Condvar::new() }
    }
}

impl Place for Meeting {
    fn check(&mut self, _plan: &Plan) -> Checkup {
        Checkup::default()
    }

    fn sweep(&mut self) -> Result<Vec<RevertedEdit>, Box<dyn Error + Send + Sync>> {
        Ok(Vec::new())
    }

    fn run(&self, _plan: &Plan, order: &TrialOrder, emit: &mut Emit<'_>) -> Result<TrialEnd, Box<dyn Error + Send + Sync>> {
        let block = order.slot.block;
        let mut state = self.state.lock().expect("no panic");
        state.running.insert(order.trial, order.slot.clone());
        state.mixed |= state.running.values().any(|other| other.block != block);
        state.most = state.most.max(state.running.len());
        if state.running.len() == self.lanes {
            state.met.insert(block);
        }
        state.asked |= state.interrupt_when.is_some_and(|count| state.running.len() >= count);
        self.moved.notify_all();
        let (mut state, timeout) = self
            .moved
            .wait_timeout_while(state, LIMIT, |state| {
                order.slot.purpose == Purpose::Measure && !state.met.contains(&block) && !state.given_up && !state.asked
            })
            .expect("no panic");
        assert!(!timeout.timed_out(), "no companion came");
        state.running.remove(&order.trial);
        let asked = state.asked;
        drop(state);
        emit(EventBody::Note { text: "ran".into() })?;
        Ok(TrialEnd::new(if asked { Outcome::Interrupted } else { Outcome::Completed }))
    }

    fn compare(&self, files: &[FileProof]) -> Vec<FileProof> {
        files.to_vec()
    }

    fn interrupted(&self) -> bool {
        self.state.lock().expect("no panic").asked
    }

    fn abandon(&self) {
        self.state.lock().expect("no panic").given_up = true;
        self.moved.notify_all();
    }
}

/// Where each data point stands: its cell and lane by block and position.
fn places(ledger: &Ledger) -> BTreeMap<(u32, u32), (String, u32)> {
    let counted = ledger.trials.values().filter(|trial| trial.counts());
    counted.map(|trial| ((trial.slot.block, trial.slot.position), (trial.slot.cell.to_string(), trial.slot.lane))).collect()
}

fn conducted(plan: &Plan, place: &Meeting) -> (Ledger, RunEnd, Vec<Event>) {
    let mut sink = Kept::default();
    let mut ledger = create(plan, &mut sink).expect("recorded");
    let end = conduct::conduct(&mut ledger, place, &mut sink).expect("recorded");
    (ledger, end, sink.events)
}

#[test]
fn lanes_run_trials_of_one_block_at_the_same_time_and_never_of_two() {
    for (levels, lanes) in [(&["a", "b"][..], 2), (&["a", "b", "c", "d"][..], 2), (&["a", "b", "c"][..], 3)] {
        let mut plan = with_lanes(plan(levels, &[]), lanes);
        plan.describe = true;
        (plan.blocks.min, plan.blocks.max) = (6, 6);
        let place = Meeting::new(lanes);
        let (ledger, end, events) = conducted(&plan, &place);
        assert!(matches!(end, RunEnd::Finished { .. }), "{end:?}");
        let state = place.state.into_inner().expect("no panic");
        assert!(state.most == lanes && !state.mixed, "{} at a time, mixed {}", state.most, state.mixed);
        assert_eq!(places(&ledger).len(), levels.len() * 6);
        let mut keys: Vec<_> = events.iter().map(|event| (event.trial, event.origin, event.seq)).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), events.len(), "every event has a number of its own");
        let replayed = Ledger::replay(&ledger.run, events).expect("readable");
        assert_eq!(places(&replayed), places(&ledger));
    }
}

#[test]
fn every_cell_is_in_every_lane_equally_often() {
    let mut plan = with_lanes(plan(&["a", "b", "c"], &[]), 3);
    (plan.blocks.min, plan.blocks.max) = (6, 6);
    plan.describe = true;
    let (ledger, ..) = conducted(&plan, &Meeting::new(3));
    let mut counts: BTreeMap<(String, u32), u32> = BTreeMap::new();
    places(&ledger).into_values().for_each(|place| *counts.entry(place).or_default() += 1);
    assert_eq!(counts.len(), 9);
    assert!(counts.values().all(|count| *count == 2), "{counts:?}");
}

#[test]
fn killed_at_any_event_with_trials_in_flight_a_run_of_lanes_goes_on_in_the_same_schedule() {
    let mut plan = with_lanes(plan(&["a", "b", "c", "d"], &[]), 2);
    (plan.blocks.min, plan.blocks.max) = (4, 4);
    plan.describe = true;
    let (whole, _, events) = conducted(&plan, &Meeting::new(2));
    for killed_at in 1..events.len() {
        let mut sink = Kept { events: Vec::new(), refuse_at: Some(killed_at) };
        let mut ledger = create(&plan, &mut sink).expect("the first event is recorded");
        let stopped = conduct::conduct(&mut ledger, &Meeting::new(2), &mut sink);
        assert!(stopped.is_err(), "killed at event {killed_at}");
        sink.refuse_at = None;
        let recorded = sink.events.clone();
        let mut ledger = Ledger::replay(&RunId("r".into()), recorded.clone()).expect("readable");
        let in_flight = ledger.unfinished();
        conduct::resume(&mut ledger, &IndexMap::new(), &mut sink).expect("recorded");
        for trial in &in_flight {
            assert_eq!(ledger.trials[trial].outcome(), Some(Outcome::Interrupted));
        }
        // A block that was begun is half done: a trial of it may have no companion any more.
        let place = Meeting::new(2);
        place.abandon();
        let end = conduct::conduct(&mut ledger, &place, &mut sink).expect("recorded");
        assert!(matches!(end, RunEnd::Finished { .. }), "killed at event {killed_at}: {end:?}");
        assert_eq!(places(&ledger), places(&whole), "killed at event {killed_at}");
        assert_eq!(sink.events[..recorded.len()], recorded[..], "what was recorded stays");
    }
}

#[test]
fn an_interrupt_ends_the_trials_of_every_lane_and_they_are_no_data_points() {
    let plan = with_lanes(plan(&["a", "b"], &[]), 2);
    let place = Meeting::new(3);
    place.state.lock().expect("no panic").interrupt_when = Some(2);
    let (ledger, end, _) = conducted(&plan, &place);
    assert_eq!(end, RunEnd::Interrupted);
    assert_eq!(ledger.trials.len(), 2);
    assert!(ledger.trials.values().all(|trial| trial.outcome() == Some(Outcome::Interrupted)));
}

/// Applies events to a ledger as the run loop does.
struct Played {
    ledger: Ledger,
    running: Vec<(TrialId, u32)>,
}

impl Played {
    fn apply(&mut self, trial: TrialId, origin: Origin, body: EventBody) {
        let seq = self.ledger.next_seq(Some(trial), origin);
        self.ledger.apply(&Event { run: RunId("r".into()), trial: Some(trial), origin, seq, time: TimeNs(0), body });
    }

    fn launch(&mut self, slot: Slot) {
        let trial = self.ledger.next_trial();
        self.running.push((trial, slot.lane));
        let edited = self.ledger.plan.edits_of(&slot.cell).next().is_some();
        self.apply(trial, Origin::Lab, EventBody::TrialStarted { slot });
        if edited {
            let (id, name, file) = (trial.to_string(), "print".to_owned(), "f.py".into());
            let edit = AppliedEdit { id, name, file, before_sha256: "a".into(), after_sha256: "b".into(), added_lines: 3..4 };
            self.apply(trial, Origin::Host, EventBody::Edited(edit));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Whichever lane asks first and whichever trial ends first, and however: nobody waits for ever, a lane has one trial at a time, blocks do not
    // mix, edits come after a baseline, and the schedule is the same.
    #[test]
    fn any_interleaving_of_lanes_gives_the_same_schedule_and_no_deadlock(
        levels in 2_usize..5, instruments in 0_usize..2, lanes in 1_usize..5, choices in proptest::collection::vec(any::<u32>(), 400..401)
    ) {
        let names = ["a", "b", "c", "d"];
        let mut plan = with_lanes(plan(&names[..levels], &["print"][..instruments]), lanes);
        (plan.blocks.min, plan.blocks.max, plan.describe) = (3, 3, true);
        let mut sink = Kept::default();
        let ledger = create(&plan, &mut sink).expect("recorded");
        let mut played = Played { ledger, running: Vec::new() };
        let mut voids: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut choices = choices.into_iter();
        let end = 'run: loop {
            // Every idle lane asks, in an order of its own.
            let first = choices.next().unwrap_or(0) as usize;
            for lane in (0..lanes).map(|lane| u32::try_from((lane + first) % lanes).expect("few") + 1) {
                if played.running.iter().any(|(_, of)| *of == lane) {
                    continue;
                }
                match step::next(&played.ledger, lane) {
                    Step::Launch(slot) => {
                        prop_assert_eq!(slot.lane, lane);
                        let others: Vec<_> = played.running.iter().map(|(trial, _)| &played.ledger.trials[trial].slot).collect();
                        prop_assert!(others.iter().all(|other| other.block == slot.block && other.purpose == slot.purpose));
                        prop_assert!(slot.purpose == Purpose::Measure || others.is_empty());
                        played.launch(slot);
                    }
                    Step::Wait => {}
                    Step::End(end) => {
                        prop_assert!(played.running.is_empty());
                        break 'run end;
                    }
                }
            }
            prop_assert!(!played.running.is_empty(), "every lane waits and nothing runs");
            let choice = choices.next().unwrap_or(0) as usize;
            let (trial, _) = played.running.remove(choice % played.running.len());
            let slot = played.ledger.trials[&trial].slot.clone();
            let spoilt = voids.entry((slot.block, slot.position)).or_default();
            let outcome = if choice.is_multiple_of(7) && *spoilt < 2 { Outcome::Void } else if choice.is_multiple_of(11) { Outcome::Interrupted } else { Outcome::Completed };
            *spoilt += u32::from(outcome == Outcome::Void);
            played.apply(trial, Origin::Lab, EventBody::TrialEnded(TrialEnd::new(outcome)));
        };
        let finished = matches!(end, RunEnd::Finished { .. });
        prop_assert!(finished, "{:?}", end);
        let cells: BTreeSet<String> = plan.cells.iter().map(ToString::to_string).collect();
        for block in 1..=3 {
            let here: Vec<String> = places(&played.ledger).into_iter().filter(|(place, _)| place.0 == block).map(|(_, (cell, _))| cell).collect();
            prop_assert_eq!(here.len(), cells.len());
            prop_assert_eq!(here.into_iter().collect::<BTreeSet<_>>(), cells.clone());
        }
        let first = |wanted: &dyn Fn(&Slot) -> bool| played.ledger.trials.values().find(|trial| wanted(&trial.slot)).map(|trial| trial.id);
        if let Some(edited) = first(&|slot| slot.cell.instrument == "print") {
            let baseline = played.ledger.trials.values().find(|trial| trial.slot.cell == plan.baseline && trial.counts()).map(|trial| trial.id);
            prop_assert!(baseline < Some(edited), "the first edit comes after a launch of the baseline");
            prop_assert!(step::clean_trial(&played.ledger).is_some());
        }
        // The same again, one trial after the other, from the seed alone.
        let mut again = Played { ledger: create(&plan, &mut Kept::default()).expect("recorded"), running: Vec::new() };
        'again: loop {
            for lane in 1..=u32::try_from(lanes).expect("few") {
                match step::next(&again.ledger, lane) {
                    Step::Launch(slot) => {
                        again.launch(slot);
                        let (trial, _) = again.running.remove(0);
                        again.apply(trial, Origin::Lab, EventBody::TrialEnded(TrialEnd::new(Outcome::Completed)));
                    }
                    Step::Wait => {}
                    Step::End(_) => break 'again,
                }
            }
        }
        prop_assert_eq!(places(&again.ledger), places(&played.ledger));
    }
}
