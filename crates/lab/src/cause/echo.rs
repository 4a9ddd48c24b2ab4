//! Words of those who only report that something else failed: a launcher over its worker, a peer of a process that is gone, a pool.

use std::sync::LazyLock;

use regex::Regex;

use super::traceback::Raised;

/// Messages of those who only report that another process failed, or that it no longer answers.
const REPORTS: [&str; 30] = [
    "Engine core initialization failed",
    "Engine process failed to start",
    "See root cause above",
    "See stack trace for root cause",
    "see the error messages above",
    "scheduler is dead",
    "killed by signal",
    "terminated abruptly",
    "died unexpectedly",
    "exited unexpectedly",
    "Rank 0 scheduler died",
    "a child process",
    "received sigquit",
    "sigquit received",
    "No available shared memory broadcast block",
    "RPC call to sample_tokens timed out",
    "RPC call to execute_model timed out",
    "caught collective operation timeout",
    "NCCL communicator was aborted",
    "ncclRemoteError",
    "remote process exited or there was a network error",
    "Connection closed by peer",
    "Connection reset by peer",
    "Got fatal signal from worker processes",
    "terminated with the following error",
    "Worker proc died",
    "failed to terminate gracefully",
    "non-zero exit",
    "nonzero exit",
    "failed (exitcode: ",
];

/// Types of exceptions that only report that another process failed, or that one was told to end.
const REPORTERS: [&str; 12] = [
    "KeyboardInterrupt",
    "SystemExit",
    "CancelledError",
    "GeneratorExit",
    "CalledProcessError",
    "ChildFailedError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "BrokenProcessPool",
    "EngineDeadError",
    "BrokenBarrierError",
    "EOFError",
];

/// How somebody else ended, by its code or signal: `exited with code 1`, `died (exit code -9)`, `terminated by SIGSEGV`.
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    let verbs = r"exited|died|crashed|quit|ended|finished|terminated|killed|stopped";
    let code = r"(?:exit|return)?[ _-]?(?:code|status)|signal|rc";
    Regex::new(&format!(
        r"(?i-u)\b(?:{verbs})\b[ ,:]*(?:(?:with|by|on)\b|\()[ ]?(?:an? |its |the )?(?:(?:{code})\b[ :=(]*(?:-?\d|SIG[A-Z])|SIG[A-Z]+\b|-?\d{{1,3}}(?:[).,;:]|$))"
    ))
    .expect("a literal pattern")
});
/// The code of a process, told of one that is named: `worker failed with exit code 1`, `subprocess failed, returncode=1`.
static CODE_OF: LazyLock<Regex> = LazyLock::new(|| {
    let who = r"workers?|process(?:es)?|proc|child(?:ren)?|subprocess|ranks?|replicas?|actors?|job|task|engine|scheduler";
    Regex::new(&format!(r"(?i-u)\b(?:{who})\b[ -~]*\b(?:exit[ _-]?(?:code|status)|return[ _-]?code)s?\b[ :=(\[]*-?\d"))
        .expect("a literal pattern")
});

/// Whether an exception only tells that something else failed.
pub(super) fn only_reports(raised: &Raised) -> bool {
    // Who reads from a terminal that is not there has failed himself.
    if raised.short_kind() == "EOFError" && raised.message.starts_with("EOF when reading a line") {
        return false;
    }
    // Some types put their text on the line after the name. After a message it may be somebody else's.
    let next = raised.more.iter().find(|line| !line.trim().is_empty()).filter(|_| raised.message.trim().is_empty());
    REPORTERS.contains(&raised.short_kind()) || is_echo(&raised.message) || next.is_some_and(|line| is_echo(line))
}

/// Whether a text only tells that something else failed or no longer answers. Alone it is no cause: such lines stand in healthy logs too.
pub(super) fn is_echo(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    REPORTS.iter().any(|report| lower.contains(&report.to_ascii_lowercase())) || ENDED.is_match(text) || CODE_OF.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::is_echo;

    #[test]
    fn a_launcher_s_words_are_told_from_a_program_s_own() {
        for echo in [
            "worker exited with code 1",
            "worker exited with -9",
            "server process exited with code 1.",
            "Process 4 terminated by SIGSEGV",
            "rank 3 died (exit code -9)",
            "engine crashed with signal 11",
            "child ended with exit status 137",
            "worker failed with exit code 1",
            "subprocess failed, returncode=1",
            "Command '['a']' returned non-zero exit status 2.",
            "failed (exitcode: 1) local_rank: 0 (pid: 7) of binary: python3",
        ] {
            assert!(is_echo(echo), "{echo}");
        }
        for own in [
            "worker 3 is gone",
            "upstream answered with status 401",
            "CUDA driver call failed with 2",
            "killed 3 workers",
            "stopped by 5 users",
            "ended with 12 tokens",
            "exit code 1 is not allowed",
            "the server returned status 503",
            "port 8000 busy",
        ] {
            assert!(!is_echo(own), "{own}");
        }
    }
}
