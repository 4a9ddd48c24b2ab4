//! From the numbers that a workload tells of its requests to whether what it measured counts. A server that refuses requests must not win, and an error rate
//! that nobody knows is not zero.

use bystander_model::evidence::Evidence;
use bystander_model::requests::Requests;

use crate::plan::{Count, RequestCounts};

/// What a metric came to in one trial: its value, and where that stands or why there is none.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// The value.
    pub value: Option<f64>,
    /// Where it was read, or why it was not.
    pub evidence: Option<Evidence>,
}

/// What came of the requests of one trial, with the places of the numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judged {
    /// The numbers, and what they come to.
    pub requests: Requests,
    /// Where they were read.
    pub evidence: Vec<Evidence>,
}

/// Judges the requests of one trial; `told` says what a metric came to.
#[must_use]
pub fn judge(counts: &RequestCounts, told: impl Fn(&str) -> Told) -> Judged {
    let evidence = counts.metrics().filter_map(|name| told(name).evidence).collect();
    let known = Requests { tolerated: counts.tolerated, ..Requests::default() };
    let requests = match numbers(counts, &told) {
        Ok(Numbers { sent, failed, error_rate, tokens }) => {
            let counted = Requests { sent, failed, tokens, error_rate: Some(error_rate), ..known };
            Requests { failure: failure(&counted), ..counted }
        }
        Err(why) => Requests { unknown: Some(why), ..known },
    };
    Judged { requests, evidence }
}

struct Numbers {
    sent: Option<u64>,
    failed: Option<u64>,
    error_rate: f64,
    tokens: Option<u64>,
}

fn numbers(counts: &RequestCounts, told: &impl Fn(&str) -> Told) -> Result<Numbers, String> {
    let count = |name: &String| whole(name, told(name));
    let tokens = counts.tokens.as_ref().map(count).transpose()?;
    if let Some(name) = &counts.error_rate {
        return Ok(Numbers { sent: None, failed: None, error_rate: share(name, told(name))?, tokens });
    }
    let completed = counts.completed.as_ref().map(count).transpose()?;
    let failed = counts.failed.as_ref().map(count).transpose()?;
    let all = match &counts.requests {
        Some(Count::Fixed(number)) => Some(*number),
        Some(Count::Metric(name)) => Some(count(name)?),
        None => None,
    };
    let more = |part: u64, all: u64, word: &str| format!("{part} requests {word}, which is more than the {all} that there are");
    let (sent, failed) = match (completed, failed, all) {
        (Some(completed), Some(failed), _) => (completed.saturating_add(failed), failed),
        (Some(completed), None, Some(all)) => (all, all.checked_sub(completed).ok_or_else(|| more(completed, all, "completed"))?),
        (None, Some(failed), Some(all)) if failed <= all => (all, failed),
        (None, Some(failed), Some(all)) => return Err(more(failed, all, "failed")),
        _ => return Err("nothing tells how many there are".to_owned()),
    };
    // Of no request at all everything failed: what was asked for did not happen.
    let error_rate = if sent == 0 { 1.0 } else { failed as f64 / sent as f64 };
    Ok(Numbers { sent: Some(sent), failed: Some(failed), error_rate, tokens })
}

fn value(name: &str, told: Told) -> Result<f64, String> {
    told.value.ok_or_else(|| {
        let why = told.evidence.map_or_else(|| "not seen".to_owned(), |evidence| evidence.text);
        format!("`{name}` has no value: {why}")
    })
}

fn whole(name: &str, told: Told) -> Result<u64, String> {
    let value = value(name, told)?;
    let is_count = value >= 0.0 && value.fract() == 0.0 && value < 9e15;
    if is_count { Ok(value as u64) } else { Err(format!("`{name}` is {value}, which is no count")) }
}

fn share(name: &str, told: Told) -> Result<f64, String> {
    let value = value(name, told)?;
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    let percent = if (1.0..=100.0).contains(&value) { "; of a percentage, the counts that it was made of would do" } else { "" };
    Err(format!("`{name}` is {value}, which is no share from 0 to 1{percent}"))
}

/// Why the workload as a whole failed: nothing was sent, nothing came, or more failed than is tolerated.
fn failure(counted: &Requests) -> Option<String> {
    let rate = counted.error_rate?;
    if counted.sent == Some(0) {
        return Some("no request was made".to_owned());
    }
    if rate > counted.tolerated {
        let tolerated = counted.tolerated * 100.0;
        return Some(format!("{}, more than the {tolerated} % that are tolerated", counted.words()));
    }
    if rate >= 1.0 {
        return Some(format!("{}, and none completed", counted.words()));
    }
    (counted.tokens == Some(0)).then(|| format!("no output token came; {}", counted.words()))
}

#[cfg(test)]
mod tests {
    use bystander_model::evidence::{Evidence, Stream};
    use bystander_model::ids::TrialId;

    use super::{Judged, Told, judge};
    use crate::plan::{Count, RequestCounts};

    fn of(counts: &RequestCounts, values: &[(&str, f64)]) -> Judged {
        judge(counts, |name| {
            let found = values.iter().find(|(known, _)| *known == name);
            let text = found.map_or_else(|| "no line matched".to_owned(), |(_, value)| format!("it says {value}"));
            Told { value: found.map(|(_, value)| *value), evidence: Some(Evidence::log(TrialId(1), Stream::Workload, 3, &text)) }
        })
    }

    fn some(name: &str) -> Option<String> {
        Some(name.to_owned())
    }

    /// How many were sent and failed, and why it did not pass.
    fn said(counts: &RequestCounts, values: &[(&str, f64)]) -> (Option<u64>, Option<u64>, Option<f64>, Option<String>) {
        let Judged { requests, .. } = of(counts, values);
        assert_eq!(requests.passed(), requests.failure.is_none() && requests.unknown.is_none());
        assert!(requests.failure.is_none() || requests.unknown.is_none(), "{requests:?}");
        (requests.sent, requests.failed, requests.error_rate, requests.failure.or(requests.unknown))
    }

    #[test]
    fn any_two_counts_tell_the_third() {
        let [ok, bad] = [("ok", 38.0), ("bad", 2.0)];
        let both = RequestCounts { completed: some("ok"), failed: some("bad"), tolerated: 0.05, ..RequestCounts::default() };
        let fixed = RequestCounts { failed: None, requests: Some(Count::Fixed(40)), ..both.clone() };
        let counted = RequestCounts { completed: None, requests: Some(Count::Metric("all".to_owned())), ..both.clone() };
        let passed = (Some(40), Some(2), Some(0.05), None);
        assert_eq!(said(&both, &[ok, bad]), passed);
        assert_eq!(said(&fixed, &[ok]), passed);
        assert_eq!(said(&counted, &[bad, ("all", 40.0)]), passed, "as many as are tolerated");
        let strict = RequestCounts { tolerated: 0.01, ..both };
        let why = "2 of 40 requests failed (5.0 %), more than the 1 % that are tolerated";
        assert_eq!(said(&strict, &[ok, bad]), (Some(40), Some(2), Some(0.05), some(why)));
    }

    #[test]
    fn a_workload_that_served_nobody_has_failed_whatever_is_tolerated() {
        let all =
            RequestCounts { completed: some("ok"), failed: some("bad"), tolerated: 1.0, tokens: some("t"), ..RequestCounts::default() };
        let why = |values: &[(&str, f64)]| said(&all, values).3;
        assert_eq!(why(&[("ok", 0.0), ("bad", 20.0), ("t", 0.0)]), some("20 of 20 requests failed (100.0 %), and none completed"));
        assert_eq!(why(&[("ok", 0.0), ("bad", 0.0), ("t", 0.0)]), some("no request was made"));
        assert_eq!(why(&[("ok", 20.0), ("bad", 0.0), ("t", 0.0)]), some("no output token came; 0 of 20 requests failed (0.0 %)"));
        assert_eq!(why(&[("ok", 1.0), ("bad", 19.0), ("t", 5.0)]), None);
        let share = RequestCounts { error_rate: some("e"), tolerated: 1.0, ..RequestCounts::default() };
        assert_eq!(said(&share, &[("e", 1.0)]).3, some("100.0 % of the requests failed, and none completed"));
        assert_eq!(said(&share, &[("e", 0.25)]), (None, None, Some(0.25), None));
    }

    #[test]
    fn what_is_no_count_and_no_share_is_not_known_and_not_a_failure() {
        let share = RequestCounts { error_rate: some("e"), ..RequestCounts::default() };
        let both = RequestCounts { completed: some("ok"), failed: some("bad"), ..RequestCounts::default() };
        let fixed = RequestCounts { failed: None, requests: Some(Count::Fixed(20)), ..both.clone() };
        for (counts, values, why) in [
            (&share, &[][..], "`e` has no value: no line matched"),
            (&share, &[("e", 2.5)], "`e` is 2.5, which is no share from 0 to 1; of a percentage, the counts that it was made of would do"),
            (&share, &[("e", -0.1)], "`e` is -0.1, which is no share from 0 to 1"),
            (&both, &[("ok", 20.0)], "`bad` has no value: no line matched"),
            (&both, &[("ok", 20.5), ("bad", 0.0)], "`ok` is 20.5, which is no count"),
            (&both, &[("ok", 20.0), ("bad", -1.0)], "`bad` is -1, which is no count"),
            (&fixed, &[("ok", 21.0)], "21 requests completed, which is more than the 20 that there are"),
        ] {
            let found = of(counts, values);
            assert_eq!(found.requests.unknown.as_deref(), Some(why));
            assert_eq!((found.requests.error_rate, found.requests.failure.is_none(), found.requests.passed()), (None, true, false));
            assert!(!found.evidence.is_empty());
        }
    }
}
