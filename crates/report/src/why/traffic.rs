//! What came of built-in traffic in one trial, never a latency without the error rate before it.

use bystander_model::traffic::{Counts, Spread, Summary};

use crate::number;
use crate::page::Page;
use crate::prose::{clean, count};
use crate::screen::traffic::digits;

pub(super) fn write(page: &mut Page<'_>, summary: &Summary) {
    let failed = summary.sent.saturating_sub(summary.completed);
    let kinds: Vec<String> = summary.errors.iter().map(|(kind, count)| format!("{} {count}", clean(kind))).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let unfinished = if summary.unfinished > 0 { format!(", {} unfinished", summary.unfinished) } else { String::new() };
    let rate = if summary.sent > 0 { format!(", {:.1} %", summary.error_rate * 100.0) } else { String::new() };
    let head = format!(
        "{}, {}; {failed} failed{rate}{kinds}{unfinished}; {:.1} % tolerated",
        counted(summary.sent, "request", "requests"),
        clean(&summary.arrival),
        summary.tolerated * 100.0
    );
    page.led("  traffic: ", None, 4, &head);
    if let Some(failure) = &summary.failure {
        page.led("    failed: ", None, 6, &clean(failure));
        return;
    }
    let by_whom = match summary.tokens_from.as_str() {
        "usage" => "as the server counts",
        "chunks" => "one for each chunk",
        _ => "in part one for each chunk",
    };
    let output = format!(
        "{} tokens/s, {} requests/s over {}; {} output tokens, {by_whom}",
        digits(summary.tokens_per_s),
        digits(summary.requests_per_s),
        number::seconds(summary.wall_s),
        summary.output_tokens
    );
    page.led("    output: ", None, 6, &output);
    let all = [("TTFT", summary.ttft), ("inter-token", summary.itl), ("per token", summary.tpot), ("end to end", summary.e2e)];
    for (name, spread) in all.into_iter().filter_map(|(name, spread)| Some((name, spread?))) {
        page.led(&format!("    {name}: "), None, 6, &spread_said(&spread));
    }
    for course in &summary.courses {
        let from = course.settled_from.filter(|from| *from > 0).map_or_else(String::new, |from| format!(" from request {from} on"));
        let text = format!("{}{from}, over {}", clean(&course.kind).replace('_', " "), counted(course.requests, "request", "requests"));
        page.led(&format!("    course of {}: ", clean(&course.of)), None, 6, &text);
    }
    page.led("    client: ", None, 6, &client(summary));
    if summary.warmup != Counts::default() {
        let text = format!(
            "{}, {} completed, apart from all of this",
            counted(summary.warmup.sent, "request", "requests"),
            summary.warmup.completed
        );
        page.led("    warm-up: ", None, 6, &text);
    }
    for note in &summary.notes {
        page.led("    note: ", None, 6, &clean(note));
    }
}

fn counted(number: u64, one: &str, many: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}

fn spread_said(spread: &Spread) -> String {
    let ms = |s: f64| format!("{} ms", digits(s * 1000.0));
    format!("{} median, {} p90, {} p99, {} at most (n = {})", ms(spread.p50), ms(spread.p90), ms(spread.p99), ms(spread.max), spread.n)
}

fn client(summary: &Summary) -> String {
    let each = summary.client.cpu_us_per_token.map_or_else(String::new, |us| format!(", {} \u{b5}s a token", digits(us)));
    let lag = summary.client_lag.map_or_else(String::new, |lag| format!("; starts at most {} ms late", digits(lag.max * 1000.0)));
    format!("{} of processor time{each}{lag}", number::seconds(summary.client.cpu_s))
}
