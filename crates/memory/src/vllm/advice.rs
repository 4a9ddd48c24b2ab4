//! Which way to turn the share, where it starts to help, and what a value with room on both sides would give.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, Direction, Gives};

use super::amount::{minus, plus, times};
use super::formula;
use super::inputs::{self, Input};
use super::names::amount;
use super::semantics::{self, Covers};
use crate::explain::Facts;
use crate::figures::{decimal, fraction, whole};

/// The knob's name in the engine's configuration.
pub(crate) const SHARE: &str = "gpu_memory_utilization";
/// People and documents give shares in hundredths.
const STEP: f64 = 0.01;
/// A share nearer than this to where the outcome changes is no recommendation.
const NEAR: f64 = 0.005;
/// The most that is recommended where the log does not say what was free: context and allocator need some of the card.
const MOST: f64 = 0.97;

/// The numbers that a share is turned by.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) share: f64,
    pub(crate) total: Input,
    pub(crate) free: Option<Input>,
    pub(crate) kv: Option<Figure>,
}

impl Scale {
    /// Those of the rank that sets the size; `None` where share or card is not known.
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let least = inputs::least_kv(facts);
        let rank = least.as_ref().map(|(rank, ..)| *rank);
        let share = inputs::share(facts, rank)?.figure.value;
        let total = inputs::total_or_told(facts, rank).or_else(|| inputs::total_or_told(facts, None))?;
        let below = inputs::requested(facts, rank).zip(rank.and_then(|rank| inputs::not_kv(facts, rank)));
        let kv = least.map(|(_, kv, _)| kv.figure).or_else(|| below.map(|(requested, not_kv)| minus(requested.figure, not_kv.figure)));
        Some(Self { share, total, free: inputs::free(facts, rank), kv })
    }

    /// The highest share that passes the check at the start, or that leaves the card's own needs.
    pub(crate) fn most(&self, facts: &Facts) -> f64 {
        let must_be_free = semantics::covers(facts).is_none_or(Covers::must_be_free);
        let free = self.free.as_ref().filter(|_| must_be_free).and_then(|free| inputs::as_share(free.figure, self.total.figure));
        free.map_or(MOST, |free| free.low)
    }

    /// What a share gives: tokens, and what it leaves outside of itself.
    pub(crate) fn gives(&self, facts: &Facts, share: f64) -> Gives {
        let kv = self.kv.map(|kv| formula::kv_at(kv, self.share, self.total.figure, share));
        let base = self
            .free
            .as_ref()
            .filter(|_| semantics::covers(facts).is_some_and(Covers::must_be_free))
            .map_or(self.total.figure, |free| free.figure);
        let left = minus(base, times(self.total.figure, share));
        Gives { tokens: kv.and_then(|kv| formula::worth(facts, kv)).filter(|tokens| tokens.low > 0.0), headroom_gib: Some(left) }
    }
}

/// Advice to raise the share until the KV cache has `missing` GiB more.
pub(crate) fn up(facts: &Facts, missing: Figure, what_for: &str) -> Advice {
    let Some(scale) = Scale::of(facts) else {
        let text = format!(
            "Raise it: {what_for} takes {} GiB more of the card; the log does not say how large the card is, so divide this by its size to get the difference of shares.",
            decimal(missing.value, 2)
        );
        return Advice { knob: SHARE.to_owned(), direction: Direction::Up, break_even: None, recommended: None, gives: None, text };
    };
    let part = inputs::as_share(missing, scale.total.figure).unwrap_or(Figure::exact(0.0));
    let even = plus(Figure::exact(scale.share), part);
    let most = scale.most(facts);
    let wanted = [even.high + 2.0 * STEP, even.high]
        .into_iter()
        .map(step_up)
        .find(|share| *share <= most - NEAR + 1e-9 || *share <= most && *share > even.high);
    let recommended = wanted.filter(|share| *share < 1.0);
    let bound = match &scale.free {
        Some(free) => format!(
            "{} GiB of {} were free at the start, which allows {} at most",
            decimal(free.figure.value, 2),
            decimal(scale.total.figure.value, 2),
            fraction(floor4(most))
        ),
        None => format!("more than about {MOST} leaves too little for the context and the allocator"),
    };
    let Some(share) = recommended else {
        let text = format!(
            "No share works: {what_for} starts at {} and {bound}. Less memory has to be needed, or more cards given.",
            fraction(up4(even.value))
        );
        return Advice { knob: SHARE.to_owned(), direction: Direction::None, break_even: Some(even), recommended: None, gives: None, text };
    };
    let gives = scale.gives(facts, share);
    let text = format!("Raise it above {}; {} {}.", fraction(up4(even.value)), fraction(share), gives_text(&scale, share, &gives));
    Advice { knob: SHARE.to_owned(), direction: Direction::Up, break_even: Some(even), recommended: Some(share), gives: Some(gives), text }
}

/// Advice to lower the share so that `missing` GiB more stay free outside of it; where the log does not say how much is missing, by a usual step.
pub(crate) fn down(facts: &Facts, missing: Option<Figure>, what_for: &str) -> Advice {
    let bare = |text: String| Advice {
        knob: SHARE.to_owned(),
        direction: Direction::Down,
        break_even: None,
        recommended: None,
        gives: None,
        text,
    };
    let Some(scale) = Scale::of(facts) else {
        let Some(missing) = missing else {
            return bare(format!(
                "Lower it, so that more stays outside of the share for {what_for}; the log does not say how much is missing."
            ));
        };
        let total = inputs::total_or_told(facts, None);
        let part = total
            .and_then(|total| inputs::as_share(missing, total.figure))
            .map_or_else(String::new, |part| format!(", {} of the card", fraction(up4(part.value))));
        return bare(format!(
            "Lower it, so that more stays outside of the share for {what_for}: {} were missing{part}.",
            gib_or_mib(missing.value)
        ));
    };
    let usual = if semantics::covers(facts).is_some_and(Covers::has_graphs) { 2.0 * STEP } else { 5.0 * STEP };
    let even =
        missing.and_then(|missing| inputs::as_share(missing, scale.total.figure)).map(|part| minus(Figure::exact(scale.share), part));
    let share = even.map_or_else(|| step_down(scale.share - usual), |even| step_down(even.low - 0.2 * NEAR));
    let gives = scale.gives(facts, share);
    let cost = times(scale.total.figure, scale.share - share);
    // Where it would take the whole KV cache, there is nothing between too much and too little.
    let left = scale.kv.map(|kv| minus(kv, cost));
    let outside = |share: f64| decimal(scale.total.figure.value * (1.0 - share), 2);
    if share <= 0.0 || left.is_some_and(|left| left.high <= 0.0) {
        let text = format!(
            "No share works: {what_for} needs what a KV cache of any size would take. Fewer or smaller graphs, smaller steps or fewer requests at once leave more."
        );
        return Advice { knob: SHARE.to_owned(), direction: Direction::None, break_even: even, recommended: None, gives: None, text };
    }
    let short = missing.map_or_else(String::new, |missing| format!("{} were missing; ", gib_or_mib(missing.value)));
    let text = format!(
        "Lower it to {}: {short}{} leaves {} GiB outside of the share, {} leaves {} GiB, for {} GiB less of KV cache.",
        fraction(share),
        fraction(scale.share),
        outside(scale.share),
        fraction(share),
        outside(share),
        decimal(cost.value, 2)
    );
    Advice { knob: SHARE.to_owned(), direction: Direction::Down, break_even: even, recommended: Some(share), gives: Some(gives), text }
}

/// The share that gives a KV cache of the size that the user wants.
pub(crate) fn wanted(facts: &Facts) -> Option<Advice> {
    let want = facts.asked.want_gib?;
    let scale = Scale::of(facts)?;
    let part = inputs::as_share(minus(Figure::exact(want), scale.kv?), scale.total.figure)?;
    let even = plus(Figure::exact(scale.share), part);
    let most = scale.most(facts);
    // Numbers that no card has: nothing is said rather than a share below nothing.
    if even.value <= 0.0 {
        return None;
    }
    let share = Some(step_up(even.high)).filter(|share| *share <= most && *share < 1.0);
    let text = match share {
        Some(share) => {
            format!("{} GiB of KV cache need a share of {}; {} works.", decimal(want, 3), fraction(up4(even.value)), fraction(share))
        }
        None => format!(
            "{} GiB of KV cache would need a share of {}, and no more than {} works on this card.",
            decimal(want, 3),
            fraction(up4(even.value)),
            fraction(floor4(most))
        ),
    };
    let direction = match share {
        None => Direction::None,
        Some(_) if even.value > scale.share => Direction::Up,
        Some(_) => Direction::Down,
    };
    let gives = share.map(|share| scale.gives(facts, share));
    Some(Advice { knob: SHARE.to_owned(), direction, break_even: Some(even), recommended: share, gives, text })
}

/// Another knob than the share.
pub(crate) fn turn(knob: &str, direction: Direction, recommended: Option<f64>, text: impl Into<String>) -> Advice {
    Advice { knob: knob.to_owned(), direction, break_even: None, recommended, gives: None, text: text.into() }
}

fn gives_text(scale: &Scale, share: f64, gives: &Gives) -> String {
    let kv = scale.kv.map(|kv| formula::kv_at(kv, scale.share, scale.total.figure, share));
    let kv = kv.map_or_else(|| "gives more".to_owned(), |kv| format!("gives {} GiB of KV cache", decimal(kv.value, 2)));
    let tokens = gives.tokens.map_or_else(String::new, |tokens| format!(", about {} tokens", whole(tokens.value)));
    let left = gives.headroom_gib.map_or_else(String::new, |left| format!(", and leaves {} GiB", decimal(left.value, 2)));
    format!("{kv}{tokens}{left}")
}

/// MiB for what is less than half a GiB, with the unit.
pub(crate) fn gib_or_mib(gib: f64) -> String {
    if gib.abs() < 0.5 { format!("{} MiB", decimal(gib * 1024.0, 0)) } else { format!("{} GiB", decimal(gib, 2)) }
}

/// The next hundredth that is not below a share.
pub(crate) fn step_up(share: f64) -> f64 {
    (share / STEP - 1e-9).ceil() / 100.0
}

/// The next hundredth that is not above a share.
pub(crate) fn step_down(share: f64) -> f64 {
    (share / STEP + 1e-9).floor() / 100.0
}

/// A hundredth with room below a limit.
pub(crate) fn below(limit: f64) -> f64 {
    step_down(limit - NEAR)
}

/// Rounded down at the fourth decimal: what is printed as passing passes.
pub(crate) fn floor4(share: f64) -> f64 {
    (share * 1e4 + 1e-6).floor() / 1e4
}

/// Rounded up at the fourth decimal.
pub(crate) fn up4(share: f64) -> f64 {
    (share * 1e4 - 1e-6).ceil() / 1e4
}

/// What a full request takes, from how many fit.
pub(crate) fn one_request(facts: &Facts) -> Option<Figure> {
    let concurrency = inputs::server(facts, amount::CONCURRENCY)?;
    let (_, kv, _) = inputs::least_kv(facts)?;
    super::amount::ratio(kv.figure, concurrency.figure)
}
