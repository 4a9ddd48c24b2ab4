//! The names under which a summary's numbers are metrics of an experiment.

use super::{Spread, Summary};

/// What stands before a name in an experiment file.
pub const PREFIX: &str = "traffic.";

const SPREADS: [&str; 6] = ["ttft", "itl", "tpot", "e2e", "connect", "client_lag"];
const STATISTICS: [&str; 5] = ["p50", "p90", "p99", "max", "mean"];
/// Those that also say something of traffic that failed.
const COUNTS: [&str; 3] = ["error_rate", "sent", "completed"];
const FIGURES: [&str; 7] =
    ["tokens_per_s", "requests_per_s", "output_tokens", "input_tokens", "cached_tokens", "tokens_per_chunk", "client_cpu_s"];

/// Every name of a metric, without [`PREFIX`]: `ttft_p50`, `tokens_per_s`, `error_rate`, …. Latencies are in seconds.
pub fn names() -> impl Iterator<Item = String> {
    let spreads = SPREADS.iter().flat_map(|spread| STATISTICS.iter().map(move |statistic| format!("{spread}_{statistic}")));
    spreads.chain(FIGURES.iter().chain(&COUNTS).map(|name| (*name).to_owned()))
}

impl Summary {
    /// In what the tokens of a metric are counted; empty for one that is of no tokens. A chunk may hold several tokens, so that figures of both ways of
    /// counting are no more comparable than those in different units.
    #[must_use]
    pub fn unit(&self, name: &str) -> &'static str {
        let is_of_tokens = matches!(name, "tokens_per_s" | "output_tokens") || name.starts_with("tpot_");
        match self.tokens_from.as_str() {
            _ if !is_of_tokens => "",
            "usage" => "tokens as the server counts them",
            "chunks" => "chunks with output for tokens",
            _ => "tokens where the server counts them and chunks elsewhere",
        }
    }

    /// The value of a metric by its name without [`PREFIX`]; `None` where there is no such name or no value, and for all but the counts where the
    /// traffic failed: a server that refuses requests must not win.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        let count = |number: u64| number as f64;
        match name {
            // Of no request at all there is no share.
            "error_rate" => return (self.sent > 0).then_some(self.error_rate),
            "sent" => return Some(count(self.sent)),
            "completed" => return Some(count(self.completed)),
            _ if self.failure.is_some() => return None,
            _ => {}
        }
        match name {
            "tokens_per_s" => Some(self.tokens_per_s),
            "requests_per_s" => Some(self.requests_per_s),
            "output_tokens" => Some(count(self.output_tokens)),
            "input_tokens" => self.input_tokens.map(count),
            "cached_tokens" => self.cached_tokens.map(count),
            "tokens_per_chunk" => self.tokens_per_chunk,
            "client_cpu_s" => Some(self.client.cpu_s),
            _ => self.spread_metric(name),
        }
    }

    fn spread_metric(&self, name: &str) -> Option<f64> {
        let (spread, statistic) = name.rsplit_once('_')?;
        let spread = match spread {
            "ttft" => self.ttft,
            "itl" => self.itl,
            "tpot" => self.tpot,
            "e2e" => self.e2e,
            "connect" => self.connect,
            "client_lag" => self.client_lag,
            _ => None,
        }?;
        spread.statistic(statistic)
    }
}

impl Spread {
    fn statistic(&self, name: &str) -> Option<f64> {
        match name {
            "p50" => Some(self.p50),
            "p90" => Some(self.p90),
            "p99" => Some(self.p99),
            "max" => Some(self.max),
            "mean" => Some(self.mean),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Spread, Summary};
    use super::names;

    fn whole() -> Summary {
        let spread = Some(Spread { n: 1, mean: 1.0, p50: 2.0, p90: 3.0, p99: 4.0, max: 5.0 });
        Summary {
            sent: 4,
            ttft: spread,
            itl: spread,
            tpot: spread,
            e2e: spread,
            connect: spread,
            client_lag: spread,
            input_tokens: Some(7),
            cached_tokens: Some(0),
            tokens_per_chunk: Some(1.0),
            ..Summary::default()
        }
    }

    #[test]
    fn tokens_counted_in_two_ways_are_of_two_units() {
        let counted = |tokens_from: &str| Summary { tokens_from: tokens_from.into(), ..whole() };
        for name in names() {
            let units = ["usage", "chunks", "both"].map(|from| counted(from).unit(&name));
            let is_of_tokens = ["tokens_per_s", "output_tokens"].contains(&name.as_str()) || name.starts_with("tpot_");
            assert_eq!(units[0] != units[1] && units[1] != units[2] && units[0] != units[2], is_of_tokens, "{name}: {units:?}");
        }
    }

    #[test]
    fn every_name_has_a_value_and_nothing_else_has() {
        let summary = whole();
        for name in names() {
            assert!(summary.metric(&name).is_some(), "{name}");
        }
        assert_eq!(summary.metric("ttft_p99"), Some(4.0));
        for name in ["", "ttft", "ttft_p42", "nothing_p50", "p50", "_p50"] {
            assert_eq!(summary.metric(name), None, "{name}");
        }
    }

    #[test]
    fn failed_traffic_has_counts_and_no_latencies() {
        let summary = Summary { failure: Some("too many errors".into()), error_rate: 0.5, ..whole() };
        assert_eq!(summary.metric("error_rate"), Some(0.5));
        assert_eq!(summary.metric("sent"), Some(4.0));
        let shown: Vec<String> = names().filter(|name| summary.metric(name).is_some()).collect();
        assert_eq!(shown, ["error_rate", "sent", "completed"]);
        let none = Summary { sent: 0, ..summary };
        assert_eq!((none.metric("error_rate"), none.metric("sent")), (None, Some(0.0)), "of nothing there is no share");
    }
}
