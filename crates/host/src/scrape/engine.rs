//! What vLLM and SGLang say of themselves, by the names of their releases.
//!
//! vLLM (`vllm/v1/metrics/loggers.py`, `vllm/v1/spec_decode/metrics.py`), read in 0.8.5, 0.9.2, 0.11.0, 0.13.0, 0.17.1, 0.22.0, 0.25.1, 0.29.0,
//! 0.32.0 and 0.33.0: `vllm:spec_decode_num_drafts_total`, `…_num_draft_tokens_total`, `…_num_accepted_tokens_total` (with speculative decoding only),
//! `vllm:prefix_cache_{queries,hits}_total` and `vllm:kv_cache_usage_perc` (both with `gpu_` in front up to 0.9, and both ways in 0.11),
//! `vllm:num_requests_{running,waiting}`, `vllm:{prompt,generation}_tokens_total`, `vllm:num_preemptions_total`. Every engine of a data-parallel group
//! has its own series. The acceptance length is that of the engine's own comment: 1 + accepted / drafts.
//!
//! SGLang (`srt/metrics/collector.py`, from 0.5.10 `srt/observability/metrics_collector.py`), read in 0.4.3.post4 to 0.5.23: gauges
//! `sglang:token_usage`, `sglang:num_running_reqs`, `sglang:num_queue_reqs`, `sglang:spec_accept_length` (of the last line of its log) and, from 0.5.6,
//! `sglang:spec_accept_rate`; counters `sglang:{prompt,generation,cached}_tokens_total` and, from 0.5.13, `sglang:spec_verify_calls_total`; all of it with
//! `--enable-metrics` only. `/server_info` (up to 0.5.8 `/get_server_info`) tells the version and `internal_states[*].avg_spec_accept_length`, a mean
//! since the engine's start.

use bystander_model::engine::{EngineFigure, EngineReading, NAMES, RANDOM_PREFIX_HITS};
use serde_json::Value;

use super::prometheus::{Exposition, Sample};

/// What was read at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment<'e> {
    /// `/metrics`.
    pub(crate) metrics: Option<&'e Exposition<'e>>,
    /// `/server_info` of SGLang.
    pub(crate) info: Option<&'e Value>,
}

/// Reads both moments; `refused` says why an address gave nothing, where one did.
pub(crate) fn read(before: Moment<'_>, after: Moment<'_>, refused: &str) -> EngineReading {
    let either = |prefix: &str| {
        let has = |moment: Moment<'_>| moment.metrics.is_some_and(|read| read.samples.iter().any(|sample| sample.name.starts_with(prefix)));
        has(after) || has(before)
    };
    let info = after.info.or(before.info);
    let is_sglang = either("sglang:") || info.is_some_and(|info| info.get("internal_states").is_some());
    let engine = if either("vllm:") { Some("vllm") } else { is_sglang.then_some("sglang") };
    let Some(engine) = engine else {
        let why = if refused.is_empty() { "its metrics are those of no engine that is known here" } else { refused };
        return EngineReading::without(why);
    };
    let both = Both { before, after, refused };
    let figure = |name: &str| -> EngineFigure {
        let told = if engine == "vllm" { both.vllm(name) } else { both.sglang(name) };
        told.unwrap_or_else(|from| EngineFigure { value: None, before: None, from })
    };
    let figures: indexmap::IndexMap<String, EngineFigure> = NAMES.iter().map(|name| (name.name.to_owned(), figure(name.name))).collect();
    let hits = figures.get("prefix_hit_rate").and_then(|figure| figure.value);
    let notes = hits.filter(|hits| *hits > RANDOM_PREFIX_HITS).map(|hits| {
        format!(
            "{:.1} % of the prompt tokens came from the prefix cache; with prompts that are meant to be random that voids a comparison",
            hits * 100.0
        )
    });
    EngineReading {
        engine: Some(engine.to_owned()),
        version: info.and_then(|info| info.get("version")).and_then(Value::as_str).map(str::to_owned),
        asked: Vec::new(),
        figures,
        notes: notes.into_iter().collect(),
    }
}

type Figure = Result<EngineFigure, String>;

struct Both<'e> {
    before: Moment<'e>,
    after: Moment<'e>,
    refused: &'e str,
}

/// A counter's growth.
struct Grown {
    by: f64,
    text: String,
}

impl Both<'_> {
    fn vllm(&self, name: &str) -> Figure {
        match name {
            "accept_length" => {
                let (drafts, accepted) = (self.speculative("drafts")?, self.speculative("accepted_tokens")?);
                share(&accepted, &drafts, "no draft was made").map(|figure| EngineFigure {
                    value: figure.value.map(|value| 1.0 + value),
                    from: format!("1 + accepted / drafts: {}", figure.from),
                    ..figure
                })
            }
            "accept_rate" => share(&self.speculative("accepted_tokens")?, &self.speculative("draft_tokens")?, "nothing was drafted"),
            "prefix_hit_rate" => share(
                &self.grown(&["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"])?,
                &self.grown(&["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"])?,
                "no prompt was looked up",
            ),
            "prompt_tokens" => self.grown(&["vllm:prompt_tokens_total"]).map(counted),
            "generation_tokens" => self.grown(&["vllm:generation_tokens_total"]).map(counted),
            "preemptions" => self.grown(&["vllm:num_preemptions_total"]).map(counted),
            "kv_usage" => self.state(&["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"], f64::max),
            "running" => self.state(&["vllm:num_requests_running"], |a, b| a + b),
            "queued" => self.state(&["vllm:num_requests_waiting"], |a, b| a + b),
            other => Err(format!("vLLM does not tell `{other}`")),
        }
    }

    fn speculative(&self, what: &str) -> Result<Grown, String> {
        self.grown(&[&format!("vllm:spec_decode_num_{what}_total")]).map_err(|why| {
            let off = self.after.metrics.is_some_and(|read| !read.samples.iter().any(|sample| sample.name.starts_with("vllm:spec_decode")));
            if off { "the engine runs without speculative decoding: it has no such counters".to_owned() } else { why }
        })
    }

    fn sglang(&self, name: &str) -> Figure {
        match name {
            "accept_length" => self.sglang_accept_length(),
            "accept_rate" => {
                let rate = self.gauge_after(&["sglang:spec_accept_rate"], f64::max)?;
                let since = "of the last line of its log; up to 0.5.10 it counts the large model's own token among the accepted";
                positive(rate, "speculative decoding is off, or nothing was drafted").map(|figure| {
                    let from = format!("{} ({since})", figure.from);
                    EngineFigure { from, ..figure }
                })
            }
            "prefix_hit_rate" => share(
                &self.grown_or_none("sglang:cached_tokens_total")?,
                &self.grown(&["sglang:prompt_tokens_total"])?,
                "no prompt was finished",
            ),
            "prompt_tokens" => self.grown(&["sglang:prompt_tokens_total"]).map(counted),
            "generation_tokens" => self.grown(&["sglang:generation_tokens_total"]).map(counted),
            "kv_usage" => self.state(&["sglang:token_usage"], f64::max),
            "running" => self.state(&["sglang:num_running_reqs"], |a, b| a + b),
            "queued" => self.state(&["sglang:num_queue_reqs"], |a, b| a + b),
            other => Err(format!("SGLang does not tell `{other}`")),
        }
    }

    /// Over the workload where the engine counts its steps, else its mean since the start, else what it last printed.
    fn sglang_accept_length(&self) -> Figure {
        let counted = self.grown(&["sglang:spec_verify_calls_total"]).and_then(|steps| {
            share(&self.grown(&["sglang:generation_tokens_total"])?, &steps, "no step of speculative decoding was counted")
        });
        if let Ok(figure) = counted {
            return Ok(figure);
        }
        let means: Vec<f64> = self.after.info.map(accept_lengths).unwrap_or_default();
        if !means.is_empty() {
            let value = means.iter().sum::<f64>() / means.len() as f64;
            let from =
                format!("avg_spec_accept_length of {} since the engine's start, its warm-up among them", plural(means.len(), "scheduler"));
            return Ok(EngineFigure { value: Some(value), before: None, from });
        }
        let gauge = self.gauge_after(&["sglang:spec_accept_length"], f64::max).map_err(|why| {
            if self.after.info.is_some() {
                format!("speculative decoding is off: /server_info has no avg_spec_accept_length, and {why}")
            } else {
                why
            }
        })?;
        positive(gauge, "speculative decoding is off, or no token was decoded").map(|figure| {
            let from = format!("{} (of the last line of its log)", figure.from);
            EngineFigure { from, ..figure }
        })
    }

    /// The growth of the first of these counters that is there, over all engines of the server.
    fn grown(&self, names: &[&str]) -> Result<Grown, String> {
        let (before, after) = (self.at(self.before)?, self.at(self.after)?);
        let name = names.iter().find(|name| after.samples.iter().any(|sample| sample.name == **name));
        let Some(name) = name else { return Err(format!("the server has no `{}`", names.first().unwrap_or(&""))) };
        let total =
            |read: &Exposition<'_>| read.samples.iter().filter(|sample| sample.name == *name).map(|sample| sample.value).sum::<f64>();
        let (from, to) = (total(before), total(after));
        if to < from {
            return Err(format!("{name} fell from {from} to {to}: the engine was started anew in between"));
        }
        if !(to - from).is_finite() {
            return Err(format!("{name} is no number"));
        }
        Ok(Grown { by: to - from, text: format!("{name} {from} \u{2192} {to}") })
    }

    /// The same for a counter that comes only with its first event.
    fn grown_or_none(&self, name: &str) -> Result<Grown, String> {
        let after = self.at(self.after)?;
        self.at(self.before)?;
        if after.samples.iter().any(|sample| sample.name == name) {
            return self.grown(&[name]);
        }
        Ok(Grown { by: 0.0, text: format!("{name} not yet there, which is 0") })
    }

    fn at<'m>(&self, moment: Moment<'m>) -> Result<&'m Exposition<'m>, String> {
        let refused = self.refused;
        moment
            .metrics
            .ok_or_else(|| if refused.is_empty() { "its metrics were not read before and after".to_owned() } else { refused.to_owned() })
    }

    /// A state, before and after.
    fn state(&self, names: &[&str], join: fn(f64, f64) -> f64) -> Figure {
        let figure = self.gauge_after(names, join)?;
        let before = self.before.metrics.and_then(|read| gauge(read, names, join)).map(|found| found.0);
        Ok(EngineFigure { before, ..figure })
    }

    fn gauge_after(&self, names: &[&str], join: fn(f64, f64) -> f64) -> Figure {
        let after = self.at(self.after)?;
        let (value, from) = gauge(after, names, join).ok_or_else(|| format!("the server has no `{}`", names.first().unwrap_or(&"")))?;
        Ok(EngineFigure { value: Some(value), before: None, from })
    }
}

/// A gauge over all engines of a server. Ranks of one engine say the same, so only the first of them is taken.
fn gauge(read: &Exposition<'_>, names: &[&str], join: fn(f64, f64) -> f64) -> Option<(f64, String)> {
    let series = |name: &str| read.samples.iter().filter(|sample| sample.name == name).collect::<Vec<&Sample<'_>>>();
    let (name, all) = names.iter().map(|name| (*name, series(name))).find(|(_, all)| !all.is_empty())?;
    let rank = |sample: &Sample<'_>| {
        ["tp_rank", "pp_rank", "moe_ep_rank"].map(|label| sample.label(label).and_then(|rank| rank.parse::<u32>().ok()))
    };
    let first = all.iter().map(|sample| rank(sample)).min()?;
    let values: Vec<f64> =
        all.iter().filter(|sample| rank(sample) == first).map(|sample| sample.value).filter(|value| value.is_finite()).collect();
    let value = values.iter().copied().reduce(join)?;
    Some((value, if values.len() == 1 { format!("{name} {value}") } else { format!("{name} over {} engines", values.len()) }))
}

fn accept_lengths(info: &Value) -> Vec<f64> {
    let states = info.get("internal_states").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    states
        .iter()
        .filter_map(|state| state.get("avg_spec_accept_length")?.as_f64())
        .filter(|value| value.is_finite() && *value > 0.0)
        .collect()
}

fn counted(grown: Grown) -> EngineFigure {
    EngineFigure { value: Some(grown.by), before: None, from: grown.text }
}

fn share(part: &Grown, whole: &Grown, nothing: &str) -> Figure {
    if whole.by <= 0.0 {
        return Err(format!("{nothing}: {}", whole.text));
    }
    Ok(EngineFigure { value: Some(part.by / whole.by), before: None, from: format!("{}, {}", part.text, whole.text) })
}

/// A gauge of SGLang stands at 0 until there is something to say.
fn positive(figure: EngineFigure, why: &str) -> Figure {
    if figure.value.is_some_and(|value| value > 0.0) { Ok(figure) } else { Err(format!("{why}: {}", figure.from)) }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("one {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests;
