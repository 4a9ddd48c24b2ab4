//! One question by HTTP, and what counts as an answer.
//!
//! Whoever asks has made sure before that the tree listens there, and makes sure again after.

use std::time::Duration;

use regex::bytes::Regex;
use ureq::Agent;

use super::Lapse;

/// How long an address may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long an address may take to answer; some health checks do real work.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// As much of a body is read.
const BODY_BYTES: u64 = 1 << 20;
/// As much of a body is shown.
const SHOWN_BYTES: usize = 200;

/// An answer with its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The first of the body, in one line.
    pub(crate) fn shown(&self) -> String {
        shown(&self.body)
    }
}

/// The first of a text, in one line.
pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(SHOWN_BYTES)]).into_owned();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A client that takes the answer as it comes: no redirects, no proxy, no connection kept.
pub(crate) fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(0)
        .timeout_connect(Some(CONNECT_LIMIT))
        .timeout_global(Some(ANSWER_LIMIT))
        .user_agent("bystander")
        .build()
        .into()
}

/// Why no answer came.
#[derive(Debug)]
pub(crate) struct Unanswered {
    why: String,
    /// Whether the time for it ran out: somebody took the question, and said nothing.
    pub(crate) silent: bool,
}

impl Unanswered {
    fn of(url: &str, error: &ureq::Error) -> Self {
        Self { why: format!("{url} gave no answer ({error})"), silent: matches!(error, ureq::Error::Timeout(_)) }
    }
}

impl From<Unanswered> for Lapse {
    fn from(Unanswered { why, silent }: Unanswered) -> Self {
        Self { why, silent }
    }
}

impl From<Unanswered> for String {
    fn from(unanswered: Unanswered) -> Self {
        unanswered.why
    }
}

/// Asks once; whatever goes wrong only means: not yet, and why. The body is read where it is wanted: it may have no end.
pub(crate) fn get(agent: &Agent, url: &str, with_body: bool) -> Result<Answer, Unanswered> {
    let failed = |error: ureq::Error| Unanswered::of(url, &error);
    let mut answer = agent.get(url).header("Connection", "close").call().map_err(failed)?;
    let status = answer.status().as_u16();
    let body = if with_body { answer.body_mut().with_config().limit(BODY_BYTES).read_to_vec().map_err(failed)? } else { Vec::new() };
    Ok(Answer { status, body })
}

/// Sends JSON and waits for the answer, for at most `limit`.
pub(crate) fn post(agent: &Agent, url: &str, json: &serde_json::Value, limit: Duration) -> Result<Answer, Unanswered> {
    let failed = |error: ureq::Error| Unanswered::of(url, &error);
    let request = agent.post(url).header("Connection", "close").header("Content-Type", "application/json");
    let request = request.config().timeout_global(Some(limit)).build();
    let mut answer = request.send(json.to_string()).map_err(failed)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(BODY_BYTES).read_to_vec().map_err(failed)?;
    Ok(Answer { status, body })
}

/// What must be true of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// The statuses that count; where there is none, 200 to 399.
    pub(crate) status: Vec<u16>,
    pub(crate) body: Option<Regex>,
}

impl Wanted {
    /// The part of the body that matched, where a pattern is named; else why the answer does not count.
    pub(crate) fn holds(&self, url: &str, answer: &Answer) -> Result<Option<String>, String> {
        let status = answer.status;
        let counts = if self.status.is_empty() { (200..400).contains(&status) } else { self.status.contains(&status) };
        if !counts {
            let wanted: Vec<String> = self.status.iter().map(ToString::to_string).collect();
            let wanted = if wanted.is_empty() { String::new() } else { format!(", and not {}", wanted.join(" or ")) };
            return Err(format!("{url} answered {status}{wanted}"));
        }
        let Some(pattern) = &self.body else { return Ok(None) };
        match pattern.find(&answer.body) {
            Some(found) => Ok(Some(shown(found.as_bytes()))),
            None if answer.body.is_empty() => Err(format!("{url} answered {status} with an empty body, which `body` does not match")),
            None => Err(format!("{url} answered {status}, and `body` does not match: {}", answer.shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::{Answer, Wanted};

    fn told(status: &[u16], body: Option<&str>, answer: (u16, &str)) -> Result<Option<String>, String> {
        let wanted = Wanted { status: status.to_vec(), body: body.map(|body| Regex::new(body).expect("a pattern")) };
        wanted.holds("u", &Answer { status: answer.0, body: answer.1.as_bytes().to_vec() })
    }

    #[test]
    fn an_answer_counts_by_its_status_and_its_body() {
        assert_eq!(told(&[], None, (204, "")), Ok(None));
        assert_eq!(told(&[], None, (503, "loading")), Err("u answered 503".to_owned()));
        assert_eq!(told(&[200, 207], None, (204, "")), Err("u answered 204, and not 200 or 207".to_owned()));
        assert_eq!(told(&[503], None, (503, "")), Ok(None));
        assert_eq!(told(&[], Some("state: up"), (200, "the\nstate: up")), Ok(Some("state: up".to_owned())));
        assert!(told(&[], Some("up"), (200, "going\nto")).is_err_and(|why| why.ends_with("does not match: going to")));
        assert!(told(&[], Some("up"), (200, "")).is_err_and(|why| why.contains("empty body")));
    }
}
