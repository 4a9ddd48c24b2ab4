//! Whether the times of a trial's requests settled: read from the line that the client kept of each. It describes the launch and enters no test.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use bystander_lab::stats::location::median;
use bystander_lab::stats::steady;
use bystander_model::traffic::Course;
use serde::Deserialize;

/// The file with one line a request.
const ROWS: &str = "requests.jsonl";
/// Fewer requests say nothing of a course.
const FEWEST: usize = 40;
/// Requests are taken together until there are no more points than this: single late answers are no change of level, and a long run costs no more.
const MOST_POINTS: usize = 200;
/// A line is longer only where it is none of ours.
const LONGEST: usize = 4096;

/// A request in the file; times in nanoseconds.
#[derive(Deserialize)]
struct Row {
    warmup: bool,
    intended_ns: u64,
    started_ns: u64,
    first_ns: Option<u64>,
    end_ns: u64,
    error: Option<String>,
}

/// The course of the times to the first output and of whole answers, in the order in which requests started; none where the file is not there, is damaged
/// or holds too few requests.
pub(super) fn courses(folder: &Path, is_open: bool) -> Vec<Course> {
    let mut rows = rows(folder).unwrap_or_default();
    let start = |row: &Row| if is_open { row.intended_ns } else { row.started_ns };
    rows.sort_by_key(start);
    let since = |row: &Row, end: u64| end.saturating_sub(start(row)) as f64 / 1e9;
    let first: Vec<f64> = rows.iter().filter_map(|row| Some(since(row, row.first_ns?))).collect();
    let whole: Vec<f64> = rows.iter().map(|row| since(row, row.end_ns)).collect();
    [("ttft", first), ("e2e", whole)].into_iter().filter_map(|(of, series)| course(of, &series)).collect()
}

fn course(of: &str, series: &[f64]) -> Option<Course> {
    if series.len() < FEWEST {
        return None;
    }
    let each = series.len().div_ceil(MOST_POINTS);
    // A rest that is shorter than the others would be a noisier point.
    let points: Vec<f64> = series.chunks_exact(each).filter_map(median).collect();
    let (kind, from) = match steady::course(&points).ok()? {
        steady::Course::Flat => ("flat", 0),
        steady::Course::WarmUp(from) => ("warm_up", from),
        steady::Course::SlowDown(from) => ("slow_down", from),
        steady::Course::NoSteadyState => ("no_steady_state", points.len()),
    };
    let count = |n: usize| n as u64;
    Some(Course {
        of: of.to_owned(),
        kind: kind.to_owned(),
        settled_from: (kind != "no_steady_state").then(|| count(from * each)),
        requests: count(series.len()),
    })
}

/// The measured requests that completed.
fn rows(folder: &Path) -> std::io::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in BufReader::new(File::open(folder.join(ROWS))?).lines() {
        let line = line?;
        let row = if line.len() > LONGEST { None } else { serde_json::from_str::<Row>(&line).ok() };
        rows.extend(row.filter(|row| !row.warmup && row.error.is_none()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::courses;

    /// Requests that start every 10 ms and take what a rule says, in milliseconds; the warm-up and failures before them are slow.
    fn of(count: u64, takes_ms: impl Fn(u64) -> u64) -> Vec<(String, String, Option<u64>)> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = String::from("not a row\n");
        let mut row = |number: u64, warmup: bool, takes: u64, error: &str| {
            let start = number * 10_000_000;
            let (first, end) = (start + takes * 500_000, start + takes * 1_000_000);
            writeln!(text, r#"{{"request":{number},"warmup":{warmup},"intended_ns":{start},"started_ns":{start},"first_ns":{first},"last_ns":{end},"end_ns":{end},"chunks":1,"tokens":1,"prompt_tokens":null,"error":{error}}}"#).expect("a string takes it");
        };
        (0..50).for_each(|number| row(number, true, 5000, "null"));
        (50..60).for_each(|number| row(number, false, 5000, r#""timeout""#));
        (0..count).for_each(|number| row(60 + number, false, takes_ms(number), "null"));
        std::fs::write(folder.path().join("requests.jsonl"), text).expect("it is written");
        courses(folder.path(), true).into_iter().map(|one| (one.of, one.kind, one.settled_from)).collect()
    }

    fn both(kind: &str, from: Option<u64>) -> Vec<(String, String, Option<u64>)> {
        ["ttft", "e2e"].map(|of| (of.to_owned(), kind.to_owned(), from)).to_vec()
    }

    #[test]
    fn the_course_of_requests_is_told_without_warm_up_and_failures() {
        let ripple = |number: u64| [0, 3, 1, 4, 2][(number * 7 % 5) as usize];
        assert_eq!(of(400, |number| 100 + ripple(number)), both("flat", Some(0)));
        assert_eq!(of(400, |number| if number < 100 { 300 } else { 100 } + ripple(number)), both("warm_up", Some(100)));
        assert_eq!(of(400, |number| if number < 100 { 100 } else { 300 } + ripple(number)), both("slow_down", Some(100)));
        assert_eq!(of(400, |number| if number < 350 { 100 } else { 300 } + ripple(number)), both("no_steady_state", None));
        assert_eq!(of(39, |number| 100 + ripple(number)), Vec::new(), "too few");
        let late = |number: u64| if number % 97 == 5 { 4000 } else { 100 } + ripple(number);
        assert_eq!(of(2000, late), both("flat", Some(0)), "a late answer now and then is no level");
    }

    #[test]
    fn a_file_that_is_not_there_says_nothing() {
        assert_eq!(courses(std::path::Path::new("/nonexistent"), false), Vec::new());
    }
}
