//! Servers explained as text: the answer first, then why, what to turn, and where it was read.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, Certainty, Compared, Direction, Explained, Phase, Rank, Server, State, Term, TermName};

use crate::number::{self, tokens_ranged};
use crate::page::Page;
use crate::prose::clean;
use crate::style::{Role, Style};

/// Ranks whose ledger is written out; of more, those that have the least and the most left.
const RANKS: usize = 3;
/// Servers that are explained in full; of more, only the answer of each.
const SERVERS: usize = 8;
/// Places of a version that are named.
const MARKS: usize = 4;

/// Renders what `memory explain` found.
#[must_use]
pub fn memory_explain_text(explained: &Explained, style: &Style) -> String {
    let mut page = Page::new(style);
    let in_full = explained.servers.len() <= SERVERS;
    for server in &explained.servers {
        page.heading(&title(server));
        answer(&mut page, server);
        if in_full {
            why(&mut page, server);
        }
    }
    if !explained.compared.is_empty() {
        compared(&mut page, &explained.compared);
    }
    if !explained.unread.is_empty() {
        page.heading("not read");
        for line in &explained.unread {
            page.led("  ", None, 4, &clean(line));
        }
    }
    page.finish()
}

/// Engine, version and log.
fn title(server: &Server) -> String {
    let engine = match server.engine.as_str() {
        "sglang" => "SGLang",
        "vllm" => "vLLM",
        _ => "no engine that is known",
    };
    let version = match (&server.version.low, &server.version.high) {
        (Some(low), Some(high)) if low == high => format!(" {low}"),
        (Some(low), Some(high)) => format!(" {low} to {high}"),
        (Some(low), None) => format!(" {low} or newer"),
        (None, Some(high)) => format!(" {high} or older"),
        (None, None) => String::new(),
    };
    let mixed = server.mixed_in.as_ref().map_or_else(String::new, |mixed| format!(", {} {}", clean(&mixed.by), clean(&mixed.value)));
    format!("{engine}{version} ({}{mixed})", clean(&server.source))
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Unknown => "a phase that no line names",
        Phase::ParallelInit => "the start before the weights",
        Phase::WeightLoad => "the load of the weights",
        Phase::PoolSizing => "the sizing of the KV cache",
        Phase::DraftLoad => "the load of the draft model",
        Phase::GraphCapture => "the capture of CUDA graphs",
        Phase::WarmUp => "the first requests",
        Phase::Serving => "serving",
    }
}

fn answer(page: &mut Page<'_>, server: &Server) {
    let (lead, role) = match server.state {
        State::Ready => ("  ready: ".to_owned(), Role::Good),
        State::Starved => ("  started, but of little use: ".to_owned(), Role::Bad),
        State::Failed => (format!("  failed in {}: ", phase(server.phase)), Role::Bad),
        State::Unknown => (format!("  the log ends in {}: ", phase(server.phase)), Role::Open),
    };
    page.led(&lead, Some(role), 4, &clean(&server.answer));
    for advice in &server.advice {
        page.led(&format!("  {}: ", turn(advice)), None, 4, &advised(advice));
    }
    for line in &server.contradictions {
        page.led("  but: ", Some(Role::Open), 4, &clean(line));
    }
}

/// A knob and its direction, such as `mem_fraction_static up`.
fn turn(advice: &Advice) -> String {
    let way = match advice.direction {
        Direction::Up => "up",
        Direction::Down => "down",
        Direction::None => "is not the knob",
    };
    if advice.knob.is_empty() { "do".to_owned() } else { format!("{} {way}", clean(&advice.knob)) }
}

fn advised(advice: &Advice) -> String {
    let mut text = clean(&advice.text);
    let Some(even) = advice.break_even.filter(|even| even.low < even.high) else { return text };
    text.push_str(&format!(" (it changes at {} to {}, by the log's rounding)", number::figure(even.low), number::figure(even.high)));
    text
}

/// Where the memory went, the formula, and the places.
fn why(page: &mut Page<'_>, server: &Server) {
    if let Some(formula) = &server.formula {
        let cell = formula.cell_bytes.map_or_else(String::new, |cell| format!(" at {} bytes per token and rank", number::figure(cell)));
        let tokens = formula.tokens.map_or_else(String::new, |tokens| format!("; {} tokens{cell}", number::tokens_ranged(tokens)));
        page.led("  formula: ", None, 4, &format!("{}{tokens} ({})", number::equation(&formula.text), clean(&formula.source)));
    }
    for rank in shown(&server.ranks) {
        page.led(&format!("  {}: ", rank.label.as_deref().map_or("memory".to_owned(), clean)), None, 4, &ledger(rank));
    }
    if server.ranks.len() > RANKS {
        page.led("  ", None, 4, &format!("\u{2026} and {} more ranks between these", server.ranks.len() - shown(&server.ranks).len()));
    }
    if let Some(cause) = &server.cause {
        let sure = match cause.certainty {
            Certainty::Shown => "shown by",
            Certainty::Likely => "likely, from",
            Certainty::Possible => "possible, from",
        };
        let places = cause.evidence.iter().map(|place| clean(place)).collect::<Vec<_>>().join(", ");
        page.led("  cause: ", None, 4, &format!("{}, {sure} {places}", cause.class.name()));
    }
    if !server.version.from.is_empty() {
        let marks: Vec<String> = server.version.from.iter().rev().take(MARKS).map(|from| clean(from)).collect();
        page.led("  version from: ", None, 4, &marks.join("; "));
    }
    for line in &server.not_modelled {
        page.led("  not modelled: ", None, 4, &clean(line));
    }
}

/// All ranks where they are few, else those with the least and the most left.
fn shown(ranks: &[Rank]) -> Vec<&Rank> {
    if ranks.len() <= RANKS {
        return ranks.iter().collect();
    }
    let left = |rank: &&Rank| rank.terms.iter().find(|term| term.name == TermName::Headroom).map_or(f64::INFINITY, |term| term.gib.value);
    let least = ranks.iter().min_by(|a, b| left(a).total_cmp(&left(b)));
    let most = ranks.iter().max_by(|a, b| left(a).total_cmp(&left(b)));
    let mut both: Vec<&Rank> = least.into_iter().chain(most).collect();
    both.dedup_by(|a, b| std::ptr::eq(*a, *b));
    both
}

/// The identity of a rank: total = terms + unexplained.
fn ledger(rank: &Rank) -> String {
    let total = rank.terms.iter().find(|term| term.name == TermName::Total);
    let parts: Vec<String> = rank.terms.iter().filter(|term| term.name != TermName::Total && is_visible(term)).map(part).collect();
    let rest = rank.unexplained_gib.map_or_else(|| "an unknown part".to_owned(), |rest| format!("{} unexplained", gib(rest)));
    let total = total.map_or_else(|| "total unknown".to_owned(), |total| format!("{} GiB", gib(total.gib)));
    format!("{total} = {} + {rest}", parts.join(" + "))
}

/// A term that is nothing is left out, but for what is left free.
fn is_visible(term: &Term) -> bool {
    term.name == TermName::Headroom || term.gib.value.abs() >= 0.005
}

fn part(term: &Term) -> String {
    format!("{} {}", gib(term.gib), name(term.name))
}

const fn name(term: TermName) -> &'static str {
    match term {
        TermName::Total => "total",
        TermName::OtherProcess => "other processes",
        TermName::Context => "context",
        TermName::Communication => "context and communication",
        TermName::Weights => "weights",
        TermName::Draft => "draft model",
        TermName::Kv => "KV cache",
        TermName::RequestTable => "request table",
        TermName::StateCache => "state cache",
        TermName::Activations => "activations",
        TermName::Graphs => "graphs",
        TermName::Workspace => "workspace",
        TermName::Headroom => "free",
    }
}

fn gib(figure: Figure) -> String {
    let places = if figure.low < figure.high { 2 } else { 3 };
    let text = format!("{:.places$}", figure.value.abs());
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if figure.value < 0.0 && !is_zero { format!("\u{2212}{text}") } else { text }
}

/// What differs between two starts.
fn compared(page: &mut Page<'_>, compared: &[Compared]) {
    page.heading("what differs between the two");
    let header = ["", "first", "second", "difference"].map(str::to_owned);
    let rows: Vec<Vec<String>> = compared
        .iter()
        .map(|one| {
            let amount = one.difference_gib.map(|difference| format!("{} GiB", gib(difference)));
            let difference = amount.or_else(|| one.difference_tokens.map(tokens_ranged)).unwrap_or_default();
            vec![clean(&one.name), clean(&one.first), clean(&one.second), difference]
        })
        .collect();
    page.table(1, &header, &rows);
}
