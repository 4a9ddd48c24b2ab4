//! One completion asked of a program that was ready, when its work has failed: whether it still answers anybody.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::checks::{Checks, Memory, Subject};
use super::generate::Server;
use super::{Lapse, Reply, http};

/// How often it is looked whether anybody still waits for the answer.
const TURN: Duration = Duration::from_millis(50);

/// Asks the tree's own server, for at most `limit` a question; `is_over` says that nobody waits for the answer any more.
pub(crate) fn ask(checks: &Checks, subject: &Subject, server: Server, limit: Duration, is_over: &dyn Fn() -> bool) -> Reply {
    let mut memory = Memory::new();
    let target = server.target.clone();
    let own = match checks.own(target.port, Some(&target), subject, &mut memory) {
        Ok(own) => own,
        Err(why) => return Reply::Unasked(why),
    };
    let (tell, told) = mpsc::channel();
    // Nobody waits for this thread: it ends with its answer, its time, or the connection of a program that is ended.
    thread::spawn(move || {
        let _ = tell.send(completes(&server, limit));
    });
    let answer = loop {
        match told.recv_timeout(TURN) {
            Ok(answer) => break answer,
            Err(RecvTimeoutError::Timeout) if !is_over() && subject.is_alive() => {}
            Err(_) => return Reply::Unasked("nobody waited for its answer".to_owned()),
        }
    };
    match (answer, checks.confirm(&target, &own, subject, &mut memory)) {
        (_, Err(why)) => Reply::Unasked(why),
        (Ok(took), Ok(())) => Reply::Completed(took),
        (Err(Lapse { why, silent: true }), Ok(())) => Reply::Silent(why),
        (Err(Lapse { why, silent: false }), Ok(())) => Reply::Failed(why),
    }
}

fn completes(server: &Server, limit: Duration) -> Result<Duration, Lapse> {
    let agent = http::agent();
    let model = server.model(&agent)?;
    let asked = Instant::now();
    server.complete_again(&agent, &model, limit)?;
    Ok(asked.elapsed())
}
