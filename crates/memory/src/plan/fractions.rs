//! Which fractions work, and what each gives.

use bystander_model::budget::Figure;
use bystander_model::memory::{Column, FractionRange, NONE_STARTS, Row};

use crate::figures::up_at_sixth;

/// Steps of a search between two fractions: enough for a millionth of a millionth.
const STEPS: u32 = 48;

/// Which of the inputs' bounds are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// The best values.
    Value,
    /// What gives the fewest tokens.
    Worst,
    /// What gives the most.
    Best,
}

/// What a fraction gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Give {
    /// Tokens; zero or less: it does not start.
    pub(super) tokens: f64,
    /// The most requests at once that anything but tokens allows.
    pub(super) requests: f64,
    /// GiB that are left for everything else.
    pub(super) headroom: f64,
}

/// What is asked of a fraction.
pub(super) struct Asked {
    /// The fraction asked for, or the default.
    pub(super) fraction: f64,
    /// The default.
    pub(super) default: f64,
    /// Tokens of a full request.
    pub(super) context: Option<u64>,
    /// What the fraction is a share of, in GiB.
    pub(super) most: Figure,
    /// GiB that must be left for everything else.
    pub(super) need: f64,
    /// Whether a start is refused where one full request does not fit.
    pub(super) needs_full_request: bool,
    /// GiB of what the fraction is a share of that are never free.
    pub(super) margin: f64,
    /// Whether a start is refused where the share is not free when it begins: what is left for everything else is less than nothing then.
    pub(super) must_be_free: bool,
}

impl Asked {
    /// What a fraction gives; nothing where the engine refuses it.
    fn given(&self, give: &dyn Fn(Case, f64) -> Give, case: Case, fraction: f64) -> Give {
        let given = give(case, fraction);
        if self.must_be_free && given.headroom < 0.0 { Give { tokens: 0.0, requests: 0.0, ..given } } else { given }
    }
}

/// Fills in tokens, concurrency, range and table of a column.
pub(super) fn fill(column: &mut Column, asked: &Asked, give: &dyn Fn(Case, f64) -> Give) {
    let figure = |fraction: f64| {
        let of = |case| asked.given(give, case, fraction).tokens;
        Figure { value: of(Case::Value), low: of(Case::Worst), high: of(Case::Best) }
    };
    let context = asked.context.unwrap_or(0) as f64;
    let concurrency = |fraction: f64| {
        let of = |case| {
            let found = asked.given(give, case, fraction);
            if context > 0.0 { (found.tokens / context).max(0.0).min(found.requests) } else { 0.0 }
        };
        Figure { value: of(Case::Value), low: of(Case::Worst), high: of(Case::Best) }
    };
    column.tokens = Some(figure(asked.fraction));
    column.concurrency = (context > 0.0).then(|| concurrency(asked.fraction));
    column.fraction = range(asked, give);
    if column.fraction.is_none() {
        column.derivation.push(none_starts(asked, give));
    }
    column.table = table(asked, column.fraction.as_ref())
        .into_iter()
        .map(|fraction| {
            let headroom = |case| give(case, fraction).headroom;
            Row {
                fraction,
                tokens: figure(fraction),
                concurrency: concurrency(fraction),
                headroom_gib: Figure { value: headroom(Case::Value), low: headroom(Case::Worst), high: headroom(Case::Best) },
            }
        })
        .collect();
}

/// The least fraction with at least so many tokens; `None` where none has them.
fn least(give: &dyn Fn(Case, f64) -> Give, case: Case, tokens: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    if give(case, high).tokens < tokens {
        return None;
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if give(case, middle).tokens >= tokens { high = middle } else { low = middle }
    }
    Some(up_at_sixth(high))
}

/// What to say where the best values start at no fraction.
fn none_starts(asked: &Asked, give: &dyn Fn(Case, f64) -> Give) -> String {
    let start = asked.context.filter(|_| asked.needs_full_request).map_or(1.0, |context| context.max(1) as f64);
    let best = least(give, Case::Best, start).filter(|least| asked.given(give, Case::Best, *least).tokens >= start);
    let perhaps = best.map_or_else(String::new, |least| {
        format!("; where all ranges turn out at their best it may, from {} on", crate::figures::fraction(least))
    });
    format!("{NONE_STARTS}: all that there is does not hold the weights and what the engine asks for beside them{perhaps}")
}

fn range(asked: &Asked, give: &dyn Fn(Case, f64) -> Give) -> Option<FractionRange> {
    let full = asked.context.map_or(1.0, |context| context.max(1) as f64);
    let start = if asked.needs_full_request { full } else { 1.0 };
    let of = |case, tokens| least(give, case, tokens);
    // Above one there is no fraction: the bound says that the model may not fit at all.
    let value = of(Case::Value, start).filter(|value| asked.given(give, Case::Value, *value).tokens >= start)?;
    let least = Figure { value, low: of(Case::Best, start).unwrap_or(value), high: of(Case::Worst, start).unwrap_or(1.0) };
    let high = highest(asked, asked.need);
    let low = of(Case::Value, full);
    let works = low.map(ceil_thousandth).filter(|low| *low <= high).map(|low| (low, high));
    let recommended = works.map(|(low, high)| recommend(asked.default, low, high));
    Some(FractionRange { least, works, recommended })
}

/// The highest fraction that leaves so many GiB beside it.
pub(super) fn highest(asked: &Asked, need: f64) -> f64 {
    floor_thousandth(1.0 - (need + asked.margin) / asked.most.value).clamp(0.0, 1.0)
}

/// The default where it works; else what lies three quarters of the way up.
fn recommend(default: f64, low: f64, high: f64) -> f64 {
    if (low..=high).contains(&default) {
        return default;
    }
    let wanted = low + (high - low) * 0.75;
    let hundredth = (wanted * 100.0).floor() / 100.0;
    if hundredth >= low { hundredth } else { floor_thousandth(wanted).max(low) }
}

fn floor_thousandth(x: f64) -> f64 {
    (x * 1000.0 + 1e-9).floor() / 1000.0
}

fn ceil_thousandth(x: f64) -> f64 {
    (x * 1000.0 - 1e-9).ceil() / 1000.0
}

/// Fractions worth a row: usual ones, and those that were found.
fn table(asked: &Asked, range: Option<&FractionRange>) -> Vec<f64> {
    let mut rows = vec![asked.fraction, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95];
    if let Some(range) = range {
        rows.extend(range.recommended);
        rows.extend(range.works.map(|(low, _)| low));
        rows.extend(range.works.map(|(_, high)| high));
        let from = ((range.least.low - 0.06) * 20.0).floor() / 20.0;
        rows.retain(|fraction| *fraction >= from || (*fraction - asked.fraction).abs() < 1e-9);
    }
    rows.retain(|fraction| *fraction > 0.0 && *fraction <= 1.0);
    rows.sort_by(f64::total_cmp);
    rows.dedup_by(|a, b| (*a - *b).abs() < 5e-7);
    rows
}
