//! `from`: what Bystander itself measures, what the engine tells, and what probes capture.

use bystander_model::{engine, traffic};

use super::super::item::Item;
use super::super::nearest::{choices, nearest};
use super::super::problems::Problems;
use super::super::table::Table;
use super::Sources;
use super::source::{needs_ready, over, pick, refuse_more};
use crate::plan::MetricSource;

/// Measured of every launch.
const MEASURED: [(&str, MetricSource); 4] = [
    ("ready_s", MetricSource::ReadySeconds),
    ("wall_s", MetricSource::WallSeconds),
    ("peak_rss", MetricSource::PeakRss),
    ("gpu_memory", MetricSource::GpuMemory),
];

/// Reads the name of what is measured.
pub(super) fn read(table: &Table<'_>, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) -> Option<MetricSource> {
    let text = item.some_text(problems)?.trim();
    if let Some((_, source)) = MEASURED.iter().find(|(word, _)| *word == text) {
        refuse_single(table, problems);
        if *source == MetricSource::ReadySeconds && !sources.ready {
            let problem = item.invalid("needs a program that says when it is ready");
            problems.push(&item.span, problem.help("add `ready` to [program], or use `wall_s`"));
        }
        return Some(source.clone());
    }
    if let Some(name) = text.strip_prefix("engine.")
        && let Some(known) = engine::NAMES.iter().find(|known| known.name == name)
    {
        refuse_more(table, text, &[], problems);
        engine_can_be_asked(known, item, sources, problems);
        return Some(MetricSource::Engine { name: name.to_owned() });
    }
    if let Some(name) = text.strip_prefix(traffic::PREFIX)
        && traffic::names().any(|known| known == name)
    {
        refuse_more(table, text, &[], problems);
        if !sources.traffic {
            let problem = item.invalid("needs built-in traffic, and the file has none");
            problems.push(&item.span, problem.help("add [workload.traffic], or read what your workload prints with `workload`"));
        }
        return Some(MetricSource::Traffic { name: name.to_owned() });
    }
    let captured = |text: &str| {
        let of_probe = |probe: &&crate::plan::Probe| text.strip_prefix(probe.spec.name.as_str()).is_some_and(|rest| rest.starts_with('.'));
        // Names may begin alike: the longest one is meant.
        sources.probes.iter().filter(of_probe).max_by_key(|probe| probe.spec.name.len())
    };
    if let Some(probe) = captured(text) {
        let value = &text[probe.spec.name.len() + 1..];
        refuse_more(table, text, &["pick", "over"], problems);
        if probe.spec.capture.iter().any(|expression| expression == value) {
            let (probe, value) = (probe.spec.name.clone(), value.to_owned());
            return Some(MetricSource::Hits { probe, value, pick: pick(table, problems), over: over(table, problems) });
        }
        let names = probe.spec.capture.iter().map(String::as_str);
        let help = match (nearest(value, names.clone()), probe.spec.capture.is_empty()) {
            (Some(near), _) => format!("did you mean `{}.{near}`?", probe.spec.name),
            (None, true) => format!("add `capture = [\"{value}\"]` to the probe"),
            (None, false) => format!("it captures {}", choices(names)),
        };
        problems.push(&item.span, item.invalid(&format!("names nothing that the probe `{}` captures", probe.spec.name)).help(help));
        return None;
    }
    unknown(text, item, sources, problems);
    None
}

/// There is one such value in a launch.
fn refuse_single(table: &Table<'_>, problems: &mut Problems<'_>) {
    if let Some(pick) = table.get("pick") {
        problems.push(&pick.key, pick.invalid("has nothing to pick from: a launch has one such time"));
    }
    for key in ["over", "json", "pattern", "when", "url"] {
        if let Some(item) = table.get(key) {
            problems.push(&item.key, item.invalid("means nothing here: a launch has one such value").help("take it out"));
        }
    }
}

fn engine_can_be_asked(known: &engine::Name, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) {
    needs_ready("engine", item, sources, problems);
    if sources.ready && !sources.address {
        let problem = item.invalid("needs an address, and nothing in the file says where the engine's server is");
        problems.push(&item.span, problem.help(r#"add `http = "http://127.0.0.1:{port}/health"` to `program.ready`"#));
    }
    if known.is_delta && !sources.workload {
        let problem = item.invalid("is counted over a workload, and the file has none");
        problems.push(&item.span, problem.help("add [workload]"));
    }
}

fn unknown(text: &str, item: &Item<'_>, sources: Sources<'_>, problems: &mut Problems<'_>) {
    let mut all: Vec<String> = MEASURED.iter().map(|(word, _)| (*word).to_owned()).collect();
    all.extend(engine::NAMES.iter().map(|known| format!("engine.{}", known.name)));
    all.extend(traffic::names().map(|name| format!("{}{name}", traffic::PREFIX)));
    let captures =
        sources.probes.iter().flat_map(|probe| probe.spec.capture.iter().map(move |value| format!("{}.{value}", probe.spec.name)));
    all.extend(captures);
    let problem = match text.split_once('.') {
        Some((group @ ("engine" | "traffic"), _)) => {
            let names = all.iter().map(String::as_str).filter(|name| name.split('.').next() == Some(group));
            item.invalid(&format!("is nothing that is known of {group}")).note(format!("there are {}", choices(names)))
        }
        _ => item
            .invalid("names nothing that is measured")
            .note(format!("besides captures of probes (`PROBE.EXPRESSION`) there are {}, `engine.…` and `traffic.…`", list())),
    };
    let near = nearest(text, all.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
    problems.push(&item.span, near.into_iter().fold(problem, bystander_model::diagnostic::Diagnostic::help));
}

fn list() -> String {
    MEASURED.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
