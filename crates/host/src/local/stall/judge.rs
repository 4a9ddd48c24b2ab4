//! Whether a program that stands still will ever go on, from two looks at its stacks.
//!
//! Only what shows that it will not is taken for a hang: the same stacks twice, a process that waits without any limit of time for something that
//! nobody in the tree will give, and no clock that would wake anybody. A program that polls, one that sleeps, an idle server: none of these is known to
//! hang, and its time limit decides.

use std::time::Duration;

use bystander_supervise::stacks::{ProcessStacks, Python, Stacks, WaitKind};

/// What two looks show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It will not go on, and why that is known.
    Hangs(String),
    /// It stands still, and nothing would wake it but somebody from outside: enough to end it where it has failed already.
    Still,
    /// It may go on by itself.
    MayGoOn,
}

/// Compares two looks that are `apart`.
pub(super) fn judge(first: &Stacks, second: &Stacks, apart: Duration) -> Judgement {
    let pairs: Option<Vec<(&ProcessStacks, &ProcessStacks)>> = second
        .processes
        .iter()
        .map(|process| {
            Some((first.processes.iter().find(|before| before.pid == process.pid && before.start_time == process.start_time)?, process))
        })
        .collect();
    let Some(pairs) = pairs.filter(|pairs| pairs.len() == first.processes.len() && !pairs.is_empty()) else { return Judgement::MayGoOn };
    let same = |(before, now): &(&ProcessStacks, &ProcessStacks)| now.stands_as(before) && !now.runs && !before.runs;
    if !pairs.iter().all(same) || pairs.iter().any(|(before, now)| sleeps_on(before, now)) {
        return Judgement::MayGoOn;
    }
    match pairs.iter().any(|(before, now)| is_stuck(before, now)) {
        true => Judgement::Hangs(format!("and its stacks were the same at two looks {:.1} s apart", apart.as_secs_f64())),
        false => Judgement::Still,
    }
}

/// Whether one of its threads is in the same sleep as before. One that polls has begun to wait again, and sleeps no longer than its step.
fn sleeps_on(before: &ProcessStacks, now: &ProcessStacks) -> bool {
    now.clocks.iter().any(|clock| before.clocks.contains(clock)) || matches!(now.main.kind, WaitKind::Disk | WaitKind::Running)
}

/// Whether it waits for ever, in the same wait as before, and is no server that waits to be asked.
fn is_stuck(before: &ProcessStacks, now: &ProcessStacks) -> bool {
    let for_ever = matches!(now.main.kind, WaitKind::Lock | WaitKind::Bytes | WaitKind::Stopped);
    for_ever && now.main.times == before.main.times && !now.listens && !matches!(now.python, Python::Unread { .. })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bystander_supervise::stacks::{ProcessStacks, Python, StackFrame, Stacks, ThreadStack, Wait, WaitKind};

    use super::{Judgement, judge};

    fn process(pid: u32, kind: WaitKind) -> ProcessStacks {
        let frame = StackFrame { file: "/app/a.py".into(), line: 3, function: "f".into() };
        let thread = ThreadStack { name: Some("MainThread".into()), id: Some(pid), frames: vec![frame] };
        ProcessStacks {
            pid,
            start_time: 1,
            title: "python a.py".into(),
            main: Wait { kind, at: String::new(), times: 5 },
            runs: false,
            listens: false,
            waits: vec![(pid, kind)],
            clocks: if kind == WaitKind::Clock { vec![(pid, 5)] } else { Vec::new() },
            python: Python::Stacks { version: "3.12.1".into(), threads: vec![thread] },
        }
    }

    fn look(processes: Vec<ProcessStacks>) -> Stacks {
        Stacks { processes, took: Duration::ZERO }
    }

    fn twice(processes: Vec<ProcessStacks>) -> Judgement {
        judge(&look(processes.clone()), &look(processes), Duration::from_secs(30))
    }

    fn hangs(judgement: &Judgement) -> bool {
        matches!(judgement, Judgement::Hangs(_))
    }

    #[test]
    fn a_lock_that_nobody_gives_is_a_hang() {
        assert!(hangs(&twice(vec![process(1, WaitKind::Lock)])));
        assert!(hangs(&twice(vec![process(1, WaitKind::Child), process(2, WaitKind::Bytes)])));
        assert!(hangs(&twice(vec![process(1, WaitKind::Events), process(2, WaitKind::Lock)])));
        assert!(hangs(&twice(vec![process(1, WaitKind::Stopped)])));
        // A parent that polls: it has begun to wait again.
        let before = process(1, WaitKind::Clock);
        let now = ProcessStacks { clocks: vec![(1, 90)], main: Wait { times: 90, ..before.main.clone() }, ..before.clone() };
        let locked = process(2, WaitKind::Lock);
        assert!(hangs(&judge(&look(vec![before.clone(), locked.clone()]), &look(vec![now.clone(), locked]), Duration::from_secs(30))));
        // Alone, a program that polls waits for something that may come.
        assert_eq!(judge(&look(vec![before]), &look(vec![now]), Duration::from_secs(30)), Judgement::Still);
    }

    #[test]
    fn what_may_go_on_is_no_hang() {
        for kind in [WaitKind::Clock, WaitKind::Disk, WaitKind::Running] {
            assert_eq!(twice(vec![process(1, WaitKind::Lock), process(2, kind)]), Judgement::MayGoOn, "{kind:?}");
        }
        for kind in [WaitKind::Events, WaitKind::Child, WaitKind::Unknown] {
            assert_eq!(twice(vec![process(1, kind)]), Judgement::Still, "{kind:?}");
        }
        // A thread beside the main one that sleeps, and one that runs.
        let sleeper = ProcessStacks { clocks: vec![(9, 1)], ..process(1, WaitKind::Lock) };
        assert_eq!(twice(vec![sleeper]), Judgement::MayGoOn);
        let runner = ProcessStacks { runs: true, ..process(1, WaitKind::Lock) };
        assert_eq!(twice(vec![runner]), Judgement::MayGoOn);
        // A server whose main thread waits for its others, and a process whose stacks nobody could read.
        let server = ProcessStacks { listens: true, ..process(1, WaitKind::Lock) };
        assert_eq!(twice(vec![server]), Judgement::Still);
        let unread = ProcessStacks { python: Python::Unread { why: "no permission".into() }, ..process(1, WaitKind::Lock) };
        assert_eq!(twice(vec![unread]), Judgement::Still);
        assert_eq!(twice(Vec::new()), Judgement::MayGoOn);
    }

    #[test]
    fn whatever_changed_between_the_looks_is_movement() {
        let locked = process(1, WaitKind::Lock);
        let moved = ProcessStacks { main: Wait { times: 6, ..locked.main.clone() }, ..locked.clone() };
        assert_eq!(judge(&look(vec![locked.clone()]), &look(vec![moved]), Duration::ZERO), Judgement::Still);
        for other in [
            ProcessStacks { start_time: 2, ..locked.clone() },
            ProcessStacks { python: Python::None, ..locked.clone() },
            ProcessStacks { main: Wait { kind: WaitKind::Bytes, ..locked.main.clone() }, ..locked.clone() },
        ] {
            assert_eq!(judge(&look(vec![locked.clone()]), &look(vec![other]), Duration::ZERO), Judgement::MayGoOn);
        }
        let two = look(vec![locked.clone(), process(2, WaitKind::Lock)]);
        assert_eq!(judge(&look(vec![locked.clone()]), &two, Duration::ZERO), Judgement::MayGoOn);
        assert_eq!(judge(&two, &look(vec![locked]), Duration::ZERO), Judgement::MayGoOn);
    }
}
