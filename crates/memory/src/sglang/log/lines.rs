//! The lines of a start: what each says, by the text that it holds.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use bystander_model::memory::Phase;
use regex::Regex;

use super::text::{add, after, gigabytes, scaled, sum_after, tp_rank};
use super::{Start, names};
use crate::explain::facts::RankFacts;
use crate::line::Place;

/// What reads a line from the text on by which it was found.
type Take = fn(&mut At<'_>, &str);

/// Texts, and what reads a line that holds one; the first one counts.
const LINES: &[(&str, Take)] = &[
    ("Load weight begin", load_begin),
    ("Load weight end", load_end),
    ("Init torch distributed begin", |at, _| at.begin(Phase::ParallelInit)),
    ("Init parallel begin", |at, _| at.begin(Phase::ParallelInit)),
    ("Init torch distributed ends", |at, rest| at.amount(names::INIT_USED, rest, "mem usage=")),
    ("Memory baseline taken", |at, rest| at.amount(names::INIT_USED, rest, "mem usage=")),
    ("Using KV cache dtype: ", |at, rest| at.setting(names::KV_DTYPE, rest["Using KV cache dtype: ".len()..].trim())),
    ("GB of the KV budget", |at, _| at.amount(names::MM_RESERVED, at.text, "Reserving ")),
    ("liding window memory pool", sliding),
    ("full_layer_tokens=", sliding),
    ("Mamba Cache is allocated", state),
    ("SWAKVPool mem usage: ", |at, rest| at.amount(names::SWA_GIB, rest, "mem usage: ")),
    ("KV Cache is allocated", pool),
    ("KV cache allocated", pool),
    ("VA upper bound", |at, _| at.note(names::RESIZED)),
    ("Post-capture KV sizing", |at, _| at.note(names::RESIZED)),
    ("Memory pool end", pool_end),
    ("raph begin", graph_begin),
    ("raph end", graph_end),
    ("Capturing batches", progress),
    ("Capturing num tokens", progress),
    ("Registering ", |at, rest| {
        if rest.contains("cuda graph addresses") {
            at.note_first(names::REGISTERED)
        }
    }),
    ("Pre-allocating symmetric memory pool with ", symmetric),
    ("All Reduce config: ", all_reduce),
    ("is larger than the profiled value ", |at, rest| at.count(names::PROFILED, rest, "profiled value ")),
    ("max_running_requests was reduced", |at, _| at.note_first(names::REDUCED)),
    ("max_total_num_tokens=", last_line),
    ("Retract requests", |at, _| at.note_first(names::RETRACTED)),
    ("Prefill out of memory", |at, _| at.note_first(names::POOL_EXHAUSTED)),
    ("Decode out of memory", |at, _| at.note_first(names::POOL_EXHAUSTED)),
    ("alloc_req_slots runs out of memory", |at, _| at.note_first(names::POOL_EXHAUSTED)),
    ("Setup Custom allreduce failed", |at, _| at.note_first(names::ALL_REDUCE_FAILED)),
    ("llreduce is disabled", |at, _| at.note_first(names::ALL_REDUCE_OFF)),
    ("there are other ranks that didn't finish loading", |at, _| at.note_first(names::RANK_WAITS)),
    ("DSV4 memory calculation", |at, _| at.note_first(names::OTHER_POOL)),
    ("[unified-memory-pool]", |at, _| at.note_first(names::OTHER_POOL)),
    ("fired up and ready to roll", served),
    ("Application startup complete", |at, _| at.begin(Phase::WarmUp)),
    ("LoRA adapter loading starts", |at, rest| at.amount(names::LORA_BEGIN, rest, "avail mem=")),
    ("LoRA adapter loading completes", |at, rest| at.amount(names::LORA_END, rest, "avail mem=")),
    ("avail=", debug),
    ("sglang==", |at, rest| at.release(&rest["sglang==".len()..])),
    ("SGLang version", |at, rest| at.release(&rest["SGLang version".len()..])),
    ("sglang version", |at, rest| at.release(&rest["sglang version".len()..])),
    ("sglang.launch_server", |at, _| at.note_first(names::COMMAND)),
    ("sglang serve", |at, _| at.note_first(names::COMMAND)),
];

/// Texts that any Python program may print; they tell nothing of the engine.
const ANYBODY: &[&str] = &["Application startup complete", "Registering ", "llreduce is disabled"];

/// Texts of which each line that is read here holds one; long enough to be rare.
pub(super) const TEXTS: &[&str] = &[
    "avail mem=",
    "mem usage",
    "KV Cache is allocated",
    "KV cache allocated",
    "Init torch distributed",
    "Init parallel begin",
    "Using KV cache dtype",
    "GB of the KV budget",
    "_layer_tokens=",
    "Mamba Cache is allocated",
    "Post-capture KV sizing",
    "Capturing batches",
    "Capturing num tokens",
    "cuda graph addresses",
    "Pre-allocating symmetric memory",
    "All Reduce config: ",
    "is larger than the profiled value ",
    "max_running_requests was reduced",
    "max_total_num_tokens=",
    "server_args=",
    "Retract requests",
    "out of memory",
    "Setup Custom allreduce",
    "llreduce is disabled",
    "didn't finish loading",
    "DSV4 memory calculation",
    "[unified-memory-pool]",
    "fired up and ready to roll",
    "Application startup complete",
    "avail=",
];

/// Parts of errors that no other engine prints.
const ERRORS: &[&str] = &[
    "--mem-fraction-static",
    "The memory capacity is unbalanced",
    "No GPU memory values found",
    "hybrid (mamba",
    "Hybrid (mamba",
    "SWA pool ",
    "max_running_request is zero",
    "Capture cuda graph failed",
];

/// Whether an error is SGLang's own.
pub(super) fn is_ours(message: &str) -> bool {
    ERRORS.iter().any(|error| message.contains(error))
}

/// A line of one rank of a start.
pub(super) struct At<'a> {
    start: &'a mut Start,
    label: &'a str,
    text: &'a str,
    place: &'a Place,
}

/// Reads a line; says whether it is one of SGLang's own.
pub(super) fn take(start: &mut Start, label: &str, text: &str, place: &Place) -> bool {
    static ANY: LazyLock<Regex> = LazyLock::new(|| {
        let texts: Vec<String> = LINES.iter().map(|(text, _)| regex::escape(text)).collect();
        Regex::new(&texts.join("|")).expect("escaped literals")
    });
    let found = ANY.is_match(text).then(|| LINES.iter().find_map(|line| text.find(line.0).map(|at| (at, line)))).flatten();
    let Some((at, (sought, take))) = found else {
        if start.is_ours && start.facts.served.is_none() && is_on_memory(text) {
            At { start, label, text, place }.note_first(names::UNKNOWN);
        }
        return is_ours(text);
    };
    let is_at_run_time =
        matches!(*sought, "Retract requests" | "Prefill out of memory" | "Decode out of memory" | "alloc_req_slots runs out of memory");
    // What a server prints of its memory once it serves is of another time: weights that are updated, memory that is lent.
    if start.facts.served.is_none() || is_at_run_time {
        take(&mut At { start, label, text, place }, &text[at..]);
    }
    let says_nothing = sought.starts_with("sglang") || sought.ends_with("GLang version") || *sought == "avail=";
    !says_nothing && !ANYBODY.contains(sought) && (!sought.starts_with("raph ") || text.contains("Capture "))
}

/// Whether a line speaks of free or used memory in the engine's words.
fn is_on_memory(text: &str) -> bool {
    (text.contains("avail mem=") || text.contains("mem usage")) && text.contains("GB")
}

/// Whether a line is one that a start prints once for each rank, and has printed already.
pub(super) fn is_double(start: &Start, label: &str, text: &str) -> bool {
    let is_speculative = start.facts.settings.get("speculative_algorithm").is_some();
    let rank = start.facts.ranks.iter().find(|rank| rank.label == label);
    let has = |name: &str| rank.is_some_and(|rank| rank.first(name).is_some());
    let has_ended = start.facts.served.is_some() || !start.facts.failures.is_empty();
    if text.contains("Load weight begin") {
        let again = has(names::LOAD_BEGIN) && start.has_arguments && !is_speculative;
        return again || (has_ended && start.has_begun() && !start.has_arguments);
    }
    if text.contains("Load weight end") {
        return has(names::LOAD_END) && !has(names::DRAFT_LOAD_BEGIN) && !is_speculative;
    }
    if text.contains("max_total_num_tokens=") {
        return has(names::TOKENS) && !is_speculative && text.contains("context_len=");
    }
    text.contains("fired up and ready to roll") && start.facts.served.is_some()
}

/// Whether a line about memory is of a rank that the server does not have, by its arguments, where another one goes on beside it: several ranks all have
/// their labels, and one alone is no second.
pub(super) fn is_of_others(start: &Start, label: &str, text: &str) -> bool {
    const OF_RANKS: [&str; 4] = ["Init torch distributed ends", "Load weight ", "KV Cache is allocated", "Memory pool end"];
    let Some(ranks) = start.facts.settings.count("tp_size").filter(|_| start.may_be_mixed) else { return false };
    let is_foreign = if ranks > 1 { !label.contains("TP") } else { tp_rank(label).is_some_and(|rank| rank > 0) };
    is_foreign && OF_RANKS.iter().any(|words| text.contains(words))
}

impl At<'_> {
    fn rank(&self) -> Option<&RankFacts> {
        self.start.facts.ranks.iter().find(|rank| rank.label == self.label)
    }

    fn has(&self, name: &str) -> bool {
        self.rank().is_some_and(|rank| rank.first(name).is_some())
    }

    fn keep(&mut self, name: &'static str, figure: Figure) {
        self.start.facts.amount(self.label, tp_rank(self.label), name, figure, self.place);
    }

    /// An amount in GB. One without its unit may be the rest of a line that was cut, and so another number.
    fn amount(&mut self, name: &'static str, rest: &str, before: &str) {
        if let Some(figure) = gigabytes(rest, before) {
            self.keep(name, figure);
        }
    }

    /// A count, which is printed whole, and is cut where the line ends with it.
    fn count(&mut self, name: &'static str, rest: &str, before: &str) {
        let digits = |c: char| c == '-' || c.is_ascii_digit();
        let ends = |at: usize| rest[at + before.len()..].trim_start_matches(digits).is_empty();
        let whole = !(self.start.is_cut && rest.find(before).is_some_and(ends));
        if let Some(figure) = after(rest, before).filter(|_| whole) {
            self.keep(name, Figure::exact(figure.value));
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.start.facts.begin(phase, self.place);
        if self.start.phases.len() < crate::explain::facts::RANKS || self.start.phases.contains_key(self.label) {
            self.start.phases.insert(self.label.to_owned(), phase);
        }
    }

    /// The release, where somebody says it: a list of packages, an answer of the server.
    fn release(&mut self, rest: &str) {
        let version = rest.trim_start_matches([' ', ':', '=', '\'', '"']).split([' ', ',', '\'', '"']).next().unwrap_or("");
        let place = self.place;
        self.start.fingerprint.state(version, || format!("{place}: {version}"));
    }

    fn setting(&mut self, name: &str, value: &str) {
        self.start.facts.settings.set(name, value, self.place);
    }

    fn note(&mut self, name: &'static str) {
        self.start.facts.note(name, self.text, self.label, self.place);
    }

    /// Keeps the first few lines of a kind that may come by the thousand.
    fn note_first(&mut self, name: &'static str) {
        if self.start.facts.messages_of(name).count() < 16 {
            self.note(name);
        }
    }
}

fn load_begin(at: &mut At<'_>, rest: &str) {
    let is_draft = at.has(names::LOAD_END);
    at.amount(if is_draft { names::DRAFT_LOAD_BEGIN } else { names::LOAD_BEGIN }, rest, "avail mem=");
    let after_pools = is_draft && at.has(names::POOL_END);
    at.begin(if after_pools { Phase::DraftLoad } else { Phase::WeightLoad });
}

fn load_end(at: &mut At<'_>, rest: &str) {
    if rest.contains("Committed real weights") {
        return at.note_first(names::OVERLAPPED);
    }
    let is_draft = at.has(names::DRAFT_LOAD_BEGIN);
    at.amount(if is_draft { names::DRAFT_LOAD_END } else { names::LOAD_END }, rest, "avail mem=");
    if is_draft {
        return;
    }
    at.amount(names::LOAD_USED, rest, "mem usage=");
    at.note_first(names::LOADED);
    if let Some(class) = rest.split_once("type=").and_then(|(_, rest)| rest.split([',', ' ']).next()) {
        at.setting(names::MODEL_CLASS, class);
    }
    at.begin(Phase::PoolSizing);
}

fn sliding(at: &mut At<'_>, rest: &str) {
    at.count(names::FULL_TOKENS, rest, "full_layer_tokens=");
    at.count(names::SWA_TOKENS, rest, "swa_layer_tokens=");
    at.begin(Phase::PoolSizing);
}

fn state(at: &mut At<'_>, rest: &str) {
    if let Some(figure) = sum_after(rest, "size: ") {
        at.keep(names::STATE_GIB, figure);
    }
    at.count(names::STATE_SLOTS, rest, "max_mamba_cache_size: ");
    at.begin(Phase::PoolSizing);
}

fn pool(at: &mut At<'_>, rest: &str) {
    let size = gigabytes(rest, "KV size: ").or_else(|| Some(add(gigabytes(rest, "K size: ")?, gigabytes(rest, "V size: ")?)));
    let Some((tokens, size)) = after(rest, "#tokens: ").zip(size) else { return };
    if at.has(names::POOL_END) {
        at.keep(names::DRAFT_POOL_GIB, size);
        return;
    }
    at.keep(names::POOL_TOKENS, Figure::exact(tokens.value));
    at.keep(names::POOL_GIB, size);
    at.begin(Phase::PoolSizing);
}

fn pool_end(at: &mut At<'_>, rest: &str) {
    let is_draft = at.has(names::POOL_END);
    at.amount(if is_draft { names::DRAFT_POOL_END } else { names::POOL_END }, rest, "avail mem=");
}

fn graph_begin(at: &mut At<'_>, rest: &str) {
    if at.text.contains("Capture ") {
        at.amount(names::GRAPH_BEGIN, rest, "avail mem=");
        at.begin(Phase::GraphCapture);
    }
}

fn graph_end(at: &mut At<'_>, rest: &str) {
    if at.text.contains("Capture ") {
        at.amount(names::GRAPH_USED, rest, "mem usage=");
        at.amount(names::GRAPH_END, rest, "avail mem=");
        at.begin(Phase::GraphCapture);
    }
}

fn progress(at: &mut At<'_>, rest: &str) {
    // The bar is redrawn for each step; the last one tells how far it came.
    at.start.facts.renew(names::PROGRESS, rest, at.label, at.place);
    if let Some(figure) = gigabytes(rest, "avail_mem=") {
        if let Some(rank) = at.start.facts.ranks.iter_mut().find(|rank| rank.label == at.label) {
            rank.amounts.retain(|amount| amount.name != names::CAPTURING);
        }
        at.keep(names::CAPTURING, figure);
    }
    at.begin(Phase::GraphCapture);
}

/// A print that somebody put into the sizing, with more decimals than the engine's own lines: `avail=21.697 total=93.999 … rest=-20.603`.
fn debug(at: &mut At<'_>, _rest: &str) {
    let number = |name: &str| after(at.text, name);
    let (Some(available), Some(total), Some(rest)) = (number("avail="), number("total="), number("rest=")) else { return };
    let Some(fraction) = number("fraction=") else { return };
    // It must be the formula, else it is somebody else's line.
    let computed = available.value - total.value * (1.0 - fraction.value);
    if (computed - rest.value).abs() > 0.01 || total.value <= available.value {
        return;
    }
    at.keep(names::SEEN_TOTAL, total);
    at.keep(names::SEEN_AVAILABLE, available);
}

fn symmetric(at: &mut At<'_>, rest: &str) {
    if let Some(figure) = after(rest, "pool with ").filter(|_| rest.contains("GiB")) {
        at.keep(names::SYMMETRIC, Figure::exact(figure.value));
    }
}

fn all_reduce(at: &mut At<'_>, rest: &str) {
    if let Some(sum) = after(rest, "symmetric_memory = ").zip(after(rest, "local_buffer = ")).map(|(a, b)| add(a, b)) {
        at.keep(names::ALL_REDUCE, scaled(sum, 1.0 / 1024.0));
    }
}

fn last_line(at: &mut At<'_>, rest: &str) {
    if !rest.contains("context_len=") {
        return;
    }
    for (name, before) in
        [(names::TOKENS, "max_total_num_tokens="), (names::MAX_RUNNING, "max_running_requests="), (names::CONTEXT, "context_len=")]
    {
        at.count(name, rest, before);
    }
    let free = gigabytes(rest, "available_gpu_mem=").or_else(|| gigabytes(rest, "available_cpu_mem="));
    if let Some(figure) = free {
        at.keep(names::FINAL, figure);
    }
}

fn served(at: &mut At<'_>, _rest: &str) {
    at.begin(Phase::Serving);
    at.start.facts.served = Some(at.place.clone());
    // What was reported before did not end it.
    at.start.facts.failures.clear();
    at.start.fatal.clear();
    at.start.wrappers.clear();
}
