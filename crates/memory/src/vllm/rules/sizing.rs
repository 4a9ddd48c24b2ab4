//! Nothing is left for the KV cache, or for the states of a hybrid model.

use bystander_model::budget::Figure;
use bystander_model::memory::{Advice, CauseClass, Certainty, Direction};

use super::first;
use crate::explain::{Case, Facts, Found};
use crate::figures::{decimal, fraction};
use crate::line::Place;
use crate::version::Release;
use crate::vllm::advice::{self, Scale, floor4, step_up, up4};
use crate::vllm::amount::{minus, times};
use crate::vllm::inputs::{self, Input};
use crate::vllm::line::Failure;
use crate::vllm::names::{amount, message, setting};
use crate::vllm::semantics::{self, Covers};

/// What an own context takes at most beside the weights, in GiB.
const CONTEXT: f64 = 2.0;

/// `No available memory for the cache blocks.`
pub(super) fn nothing_left(case: &Case<'_>) -> Option<Found> {
    let facts = case.facts;
    let said = first(facts, |failure| matches!(failure, Failure::NoBlocks).then_some(())).map(|(failure, ())| failure.place.clone());
    let place = said.or_else(|| negative_without_words(facts))?;
    if let Some(found) = overridden(facts, &place) {
        return Some(found);
    }
    if semantics::covers(facts) == Some(Covers::Card) {
        return Some(all_of_the_card(facts, place));
    }
    let printed = inputs::least_kv(facts);
    // From 0.9 on the engine prints what is left before it gives up; a log of 0.8 cannot have it.
    let may_be_old = facts.versions.bounds().0 < Release(0, 9, 0) && facts.versions.is_possible() && semantics::covers(facts).is_none();
    match printed {
        Some((_, kv, _)) if kv.figure.value <= 0.0 => Some(below_weights(facts, place, &kv)),
        None if may_be_old && inputs::server_first(facts, amount::CARD_USED).is_some() => Some(all_of_the_card(facts, place)),
        None if may_be_old => {
            let text = "Nothing is left of the share for the KV cache, and the log does not say what took it; in releases up to 0.8 all that is used on the card counts, also what other processes hold, and this may be one";
            let up = advice::turn(
                advice::SHARE,
                Direction::Up,
                None,
                "Look at free memory before the start: up to 0.8 the share must cover what others hold as well as this server; 0.9 and later count this process alone.",
            );
            Some(Found::new(CauseClass::OtherProcessHoldsMemory, Certainty::Possible, text, [place]).advise(up))
        }
        _ => {
            let text = "Weights and activations leave nothing of the share for the KV cache; the log does not say by how much";
            let up = advice::turn(
                advice::SHARE,
                Direction::Up,
                None,
                "Raise it, as far as the card is free; the line \"Available KV cache memory\" says by how many GiB it falls short.",
            );
            Some(Found::new(CauseClass::FractionBelowWeights, Certainty::Likely, text, [place]).advise(up))
        }
    }
}

/// A share that is not the one that was asked for.
fn overridden(facts: &Facts, place: &Place) -> Option<Found> {
    let typed = facts.settings.number(setting::TYPED_SHARE)?;
    let effective = inputs::share(facts, None)?;
    let apart = (typed - effective.figure.value).abs() > 0.006;
    apart.then(|| {
        let (typed, effective_text) = (fraction(typed), fraction(effective.figure.value));
        let text = format!(
            "{typed} was asked for, but the share in effect is {effective_text} ({}); nothing of it is left for the KV cache",
            effective.from
        );
        let advice = advice::turn(
            advice::SHARE,
            Direction::Up,
            None,
            format!(
                "Find what replaces {typed} by {effective_text} before turning anything: the value in effect wins over the command line."
            ),
        );
        Found::new(CauseClass::EffectiveConfigDiffers, Certainty::Shown, text, [place.clone()]).advise(advice)
    })
}

fn below_weights(facts: &Facts, place: Place, kv: &Input) -> Found {
    let missing = Figure { value: -kv.figure.value, low: -kv.figure.high, high: -kv.figure.low };
    let weights = inputs::of_any(facts, None, amount::WEIGHTS)
        .map_or_else(String::new, |weights| format!(" (weights {} GiB)", decimal(weights.figure.value, 2)));
    let share =
        inputs::share(facts, None).map_or_else(|| "the share".to_owned(), |share| format!("a share of {}", fraction(share.figure.value)));
    let text =
        format!("What the server needs beside the KV cache{weights} takes {} GiB more than {share} of the card", decimal(missing.value, 2));
    let mut found = Found::new(CauseClass::FractionBelowWeights, Certainty::Shown, text, [place]).advise(advice::up(
        facts,
        missing,
        "a KV cache of any size",
    ));
    if found.advice[0].direction == Direction::None {
        found = found.against("The engine advises to increase the share; no share that passes its own check at the start is enough");
    }
    found.advice.extend(advice::wanted(facts));
    found.advise(less())
}

/// What else leaves more for the KV cache.
fn less() -> Advice {
    advice::turn(
        setting::BATCHED_TOKENS,
        Direction::Down,
        None,
        "Otherwise need less: smaller steps (`--max-num-batched-tokens`, `--max-num-seqs`) lower the measured peak, more ranks or quantised weights lower the rest.",
    )
}

/// All that is used on the card counts: other processes are in the way of their share.
fn all_of_the_card(facts: &Facts, place: Place) -> Found {
    let neighbour = neighbour(facts);
    let scale = Scale::of(facts);
    let version = facts.versions.words();
    let rule = format!("In {} the share covers {}", if version == "unknown" { "this generation" } else { &version }, Covers::Card.words());
    let initial = inputs::of_any(facts, None, amount::INITIAL);
    let held = neighbour.as_ref().map(|held| match &initial {
        Some(initial) if held.figure == initial.figure => {
            format!(
                "; {} GiB of it were in use before the profile run, by others but for the own weights ({})",
                decimal(held.figure.value, 2),
                held.from
            )
        }
        Some(initial) => format!(
            "; {} GiB of it were in use before the profile run, and {} GiB are held by others ({})",
            decimal(initial.figure.value, 2),
            decimal(held.figure.value, 2),
            held.from
        ),
        None => format!("; {} GiB of it are held by others ({})", decimal(held.figure.value, 2), held.from),
    });
    let all = used_by_all(facts);
    let together = || Some(format!("; {} GiB are used by all together ({})", decimal(all.as_ref()?.figure.value, 2), all.as_ref()?.from));
    let held = held.or_else(together).unwrap_or_default();
    let text = format!("{rule}{held}: the share has to be the sum of all of them, and it is less");
    let certainty = if neighbour.is_some() || all.is_some() { Certainty::Likely } else { Certainty::Possible };
    let class = if neighbour.is_some() || all.is_some() || inputs::of_any(facts, None, amount::WEIGHTS).is_none() {
        CauseClass::OtherProcessHoldsMemory
    } else {
        weights_or_others(facts)
    };
    Found::new(class, certainty, text, [place]).advise(sum_of_shares(facts, scale.as_ref(), neighbour.as_ref()))
}

/// Without a sign of others: whether the weights alone exceed the share.
fn weights_or_others(facts: &Facts) -> CauseClass {
    let exceeds = inputs::of_any(facts, None, amount::WEIGHTS)
        .zip(inputs::requested(facts, None))
        .is_some_and(|(weights, requested)| weights.figure.value > requested.figure.value);
    if exceeds { CauseClass::FractionBelowWeights } else { CauseClass::OtherProcessHoldsMemory }
}

/// What others hold of the card, as far as the log shows it.
fn neighbour(facts: &Facts) -> Option<Input> {
    let all = |name: &str| inputs::of_any(facts, None, name);
    let before = all(amount::INITIAL).map(|initial| {
        let own = all(amount::WEIGHTS).map_or(Figure::exact(0.0), |weights| weights.figure);
        Input { figure: minus(initial.figure, own), from: initial.from }
    });
    let other = || all(amount::NON_TORCH);
    let listed = || inputs::server_first(facts, amount::CARD_USED);
    // What was used before the profile run has the own weights in it; without a line that says what they took, what is not torch's is the better figure.
    let before = before.filter(|_| all(amount::WEIGHTS).is_some() || other().is_none());
    before.filter(|held| held.figure.value > CONTEXT).or_else(|| other().filter(|held| held.figure.value > CONTEXT)).or_else(listed)
}

/// Up to 0.5 the peak is all that is used on the card, by this process and by others; nothing tells the parts apart.
fn used_by_all(facts: &Facts) -> Option<Input> {
    let peak = inputs::ranks(facts).find_map(|rank| inputs::of(rank, amount::PEAK));
    peak.filter(|_| inputs::of_any(facts, None, amount::FREE).is_some())
}

fn sum_of_shares(facts: &Facts, scale: Option<&Scale>, neighbour: Option<&Input>) -> Advice {
    let known = inputs::ranks(facts).find_map(|rank| {
        let total = inputs::total(facts, Some(rank))?;
        // Before the KV cache the engine needs what it measured, or by how much it fell short.
        let short = inputs::kv(facts, rank).filter(|kv| kv.figure.value <= 0.0).zip(inputs::share(facts, Some(rank)));
        let short = short.map(|(kv, share)| minus(times(total.figure, share.figure.value), kv.figure));
        Some((inputs::not_kv(facts, rank).map(|not_kv| not_kv.figure).or(short)?, total.figure))
    });
    let known = known.or_else(|| Some((neighbour?.figure, inputs::server_first(facts, amount::CARD_TOTAL)?.figure)));
    let upgrade = "0.9 and later count this process alone.";
    let Some((needs, total)) = known else {
        let text = format!("Raise it to the sum of what all processes on the card need, or {upgrade}");
        return advice::turn(advice::SHARE, Direction::Up, None, text);
    };
    let even = inputs::as_share(needs, total);
    let at = even.map_or(1.0, |even| even.value);
    let share = even.map(|even| step_up(even.high + 0.05)).filter(|share| *share <= 0.98);
    let gives = share.zip(scale).map(|(share, scale)| scale.gives(facts, share));
    let text = match share {
        Some(share) => format!(
            "It has to be above {}, and as much more as the KV cache is to get ({} for example): the sum of all servers on the card. {upgrade}",
            fraction(up4(at)),
            fraction(share)
        ),
        None => {
            format!("It would have to be above {}: there is no room on this card beside what holds it. {upgrade}", fraction(floor4(at)))
        }
    };
    Advice {
        knob: advice::SHARE.to_owned(),
        direction: if share.is_some() || at < 1.0 { Direction::Up } else { Direction::None },
        break_even: even,
        recommended: share,
        gives,
        text,
    }
}

/// The first engine up to 0.6 logs a negative size and then fails elsewhere, or nowhere in what was pasted.
fn negative_without_words(facts: &Facts) -> Option<Place> {
    facts.message(message::FIRST_ENGINE)?;
    let printed = inputs::ranks(facts).find_map(|rank| rank.first(amount::KV).filter(|kv| kv.figure.high < 0.0)).map(|kv| kv.place.clone());
    let blocks = || facts.message(message::NEGATIVE_BLOCKS).map(|blocks| blocks.place.clone());
    let computed = || {
        let rest = crate::vllm::formula::of(facts).filter(|formula| formula.rest_gib.high < 0.0);
        rest.and_then(|_| inputs::ranks(facts).find_map(|rank| rank.last(amount::PEAK))).map(|peak| peak.place.clone())
    };
    printed.or_else(blocks).or_else(computed)
}

/// More requests than states of a hybrid model.
pub(super) fn more_requests_than_states(case: &Case<'_>) -> Option<Found> {
    let (failure, (requests, blocks)) =
        first(case.facts, |failure| if let Failure::States { requests, blocks } = failure { Some((requests, blocks)) } else { None })?;
    let text =
        format!("{requests} requests at once need as many states of the model's recurrent layers, and the cache has room for {blocks}");
    let less = advice::turn(
        setting::REQUESTS,
        Direction::Down,
        Some(blocks),
        format!(
            "Set `--max-num-seqs {blocks}`. The check runs after load and profile, so set it before the start: the number grows with the share and falls with the weights."
        ),
    );
    Some(Found::new(CauseClass::HybridStateCache, Certainty::Shown, text, [failure.place.clone()]).advise(less))
}
