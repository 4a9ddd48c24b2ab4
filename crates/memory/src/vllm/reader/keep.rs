//! What a line says, kept among the facts under its name.

use bystander_model::budget::Figure;
use bystander_model::memory::Phase;

use super::{SEEN_API, SERVER};
use crate::explain::{Facts, spoken};
use crate::line::Place;
use crate::vllm::arguments::Arguments;
use crate::vllm::line::{self, Account, FirstAccount, FirstProfile, Profile, Step};
use crate::vllm::names::{amount, message, setting};
use crate::vllm::prefix;

/// Keeps what a line says.
pub(super) fn take(facts: &mut Facts, found: line::Line, label: &str, place: &Place) {
    use line::Line as L;
    let rank = prefix::tensor_rank(label);
    // What is said of the KV cache is said while it is sized.
    if matches!(found, L::Available(_) | L::FirstAccount(_) | L::FirstProfile(_) | L::Concurrency { .. }) {
        begin(facts, Step::Profile, place);
    }
    match found {
        L::Version(version) => facts.versions.state(&version, || format!("{place}: version {version}")),
        L::Begins => facts.note(SEEN_API, "", label, place),
        L::EngineBegins => begin(facts, Step::Parallel, place),
        L::Wrapped | L::Failed(_) => {}
        L::Configuration(arguments) => configure(facts, &arguments, place),
        L::Command(arguments) => typed(facts, &arguments, place),
        L::Architecture(name) => facts.settings.set(setting::ARCHITECTURE, &name, place),
        L::Begun(step) => begin(facts, step, place),
        L::Serving => {
            facts.begin(Phase::Serving, place);
            if facts.served.is_none() {
                facts.served = Some(place.clone());
                // It serves in spite of them.
                facts.failures.clear();
            }
        }
        L::Equivalent { share, without, suggested } => {
            let four = |value: f64| Figure { value, low: value - 5e-5, high: value + 5e-5 };
            facts.amount(label, rank, amount::SHARE, four(share), place);
            facts.amount(label, rank, amount::WITHOUT_GRAPHS, four(without), place);
            if let Some(suggested) = suggested {
                facts.amount(label, rank, amount::SUGGESTED, four(suggested), place);
            }
        }
        L::Profile(profile) => measured(facts, &profile, label, place),
        L::Account(account) => accounted(facts, &account, label, place),
        L::FirstAccount(account) => first(facts, &account, label, place),
        L::FirstProfile(profile) => oldest(facts, &profile, label, place),
        L::Host { kv, node, requested, consumed } => {
            facts.settings.set(setting::DEVICE, "cpu", place);
            let amounts =
                [(amount::KV, Some(kv)), (amount::NODE, Some(node)), (amount::REQUESTED, requested), (amount::CONSUMED, consumed)];
            keep(facts, &amounts, label, place);
        }
        L::Hybrid => facts.note(message::HYBRID, "", label, place),
        L::Process { title, holds } => {
            facts.note(message::PROCESS, &title, label, place);
            keep(facts, &[(amount::HELD, holds)], SERVER, place);
        }
        L::Platform(platform) => {
            let name = match platform {
                line::Platform::Unified => spoken::UNIFIED,
                line::Platform::Wsl => spoken::WSL,
                line::Platform::Slice => spoken::SLICE,
            };
            if facts.message(name).is_none() {
                facts.note(name, "", label, place);
            }
        }
        L::GraphsOutside => once(facts, message::GRAPHS_OUTSIDE, label, place),
        L::SecondRunner => once(facts, message::SECOND_RUNNER, label, place),
        L::NcclTalks => once(facts, message::NCCL_TALKS, label, place),
        L::Tunes { ends } => {
            facts.messages.retain(|known| known.name != message::TUNES || known.label != label);
            if !ends {
                facts.note(message::TUNES, "", label, place);
            }
        }
        L::Waiting => once(facts, message::WAITING, label, place),
        L::NegativeBlocks => once(facts, message::NEGATIVE_BLOCKS, label, place),
        L::Preempted => once(facts, message::PREEMPTED, label, place),
        L::BlocksSet { from, to } => {
            facts.note(message::BLOCKS_SET, &format!("{from} {to}"), label, place);
            keep(facts, &[(amount::BLOCKS, Some(Figure::exact(to)))], SERVER, place);
        }
        number => numbers(facts, &number, label, place),
    }
}

/// Lines with one or two numbers.
fn numbers(facts: &mut Facts, found: &line::Line, label: &str, place: &Place) {
    use line::Line as L;
    match *found {
        L::Weights(gib) => keep(facts, &[(amount::WEIGHTS, Some(gib))], label, place),
        L::GraphsEstimated(gib) => keep(facts, &[(amount::GRAPHS_ESTIMATED, Some(gib))], label, place),
        L::GraphsTook(gib) => keep(facts, &[(amount::GRAPHS, Some(gib))], label, place),
        L::Available(gib) => keep(facts, &[(amount::KV, Some(gib))], label, place),
        L::Reserved { free, kv } => keep(facts, &[(amount::FREE, Some(free)), (amount::KV_GIVEN, Some(kv))], label, place),
        L::Tokens(tokens) => keep(facts, &[(amount::TOKENS, Some(Figure::exact(tokens)))], SERVER, place),
        L::Concurrency { length, times } => {
            keep(facts, &[(amount::LENGTH, Some(Figure::exact(length))), (amount::CONCURRENCY, Some(times))], SERVER, place);
        }
        L::Blocks { count, is_first } => {
            if is_first {
                once(facts, message::FIRST_ENGINE, label, place);
            }
            keep(facts, &[(amount::BLOCKS, Some(Figure::exact(count)))], SERVER, place);
        }
        L::Card { used, total, eager } => {
            let name = if eager { amount::CARD_USED_EAGER } else { amount::CARD_USED };
            keep(facts, &[(name, Some(used)), (amount::CARD_TOTAL, Some(total))], SERVER, place);
        }
        L::HostAvailable(gib) => keep(facts, &[(amount::HOST_AVAILABLE, Some(gib))], SERVER, place),
        _ => {}
    }
}

fn keep(facts: &mut Facts, amounts: &[(&'static str, Option<Figure>)], label: &str, place: &Place) {
    let rank = prefix::tensor_rank(label);
    for (name, figure) in amounts {
        if let Some(figure) = figure {
            facts.amount(label, rank, name, *figure, place);
        }
    }
}

fn once(facts: &mut Facts, name: &'static str, label: &str, place: &Place) {
    if facts.message(name).is_none() {
        facts.note(name, "", label, place);
    }
}

fn begin(facts: &mut Facts, step: Step, place: &Place) {
    let is_eager = facts.settings.flag(setting::EAGER) == Some(true);
    let phase = match step {
        Step::Parallel => Phase::ParallelInit,
        Step::Weights => Phase::WeightLoad,
        Step::Profile => Phase::PoolSizing,
        // Kernels are warmed up first; what fails there fails for the same want.
        Step::Pools if is_eager => Phase::WarmUp,
        Step::Pools | Step::Graphs | Step::Captured => Phase::GraphCapture,
        Step::Warm => Phase::WarmUp,
    };
    facts.begin(phase, place);
}

fn configure(facts: &mut Facts, arguments: &Arguments, place: &Place) {
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let size = |value: Option<u32>| value.map(|value| value.to_string());
    let flag = |value: bool| if value { "True" } else { "False" }.to_owned();
    let device = arguments.device.clone().filter(|device| device.starts_with(|c: char| c.is_ascii_lowercase()));
    let values = [
        (setting::SHARE, number(arguments.share)),
        (setting::TENSOR, size(arguments.tensor)),
        (setting::PIPELINE, size(arguments.pipeline)),
        (setting::LENGTH, number(arguments.length)),
        (setting::REQUESTS, number(arguments.requests)),
        (setting::BATCHED_TOKENS, number(arguments.batched_tokens)),
        (setting::KV_DTYPE, arguments.kv_dtype.clone()),
        (setting::KV_BYTES, number(arguments.kv_bytes)),
        (setting::EAGER, arguments.eager.map(flag)),
        (setting::DEVICE, device),
        (setting::ALL_CHANGES, arguments.lists_all_changes.then(|| flag(true))),
        (setting::SPECULATIVE, arguments.speculative.then(|| flag(true))),
    ];
    for (name, value) in values {
        if let Some(value) = value {
            facts.settings.set(name, &value, place);
        }
    }
}

/// What was typed counts where nothing else is known, but for the share, which is kept beside what the engine prints.
fn typed(facts: &mut Facts, arguments: &Arguments, place: &Place) {
    if let Some(share) = arguments.share {
        facts.settings.set(setting::TYPED_SHARE, &share.to_string(), place);
    }
    if !arguments.partition.is_empty() {
        let stages: Vec<String> = arguments.partition.iter().map(ToString::to_string).collect();
        facts.settings.set(setting::PARTITION, &stages.join(","), place);
    }
    let mut rest = Arguments { share: None, ..arguments.clone() };
    let known = |name: &str| facts.settings.setting(name).is_some();
    rest.tensor = rest.tensor.filter(|_| !known(setting::TENSOR));
    rest.pipeline = rest.pipeline.filter(|_| !known(setting::PIPELINE));
    rest.length = rest.length.filter(|_| !known(setting::LENGTH));
    rest.requests = rest.requests.filter(|_| !known(setting::REQUESTS));
    rest.eager = rest.eager.filter(|_| !known(setting::EAGER));
    configure(facts, &rest, place);
}

fn measured(facts: &mut Facts, profile: &Profile, label: &str, place: &Place) {
    let amounts = [
        (amount::TOTAL, profile.total),
        (amount::FREE, profile.free),
        (amount::SHARE, profile.share.map(Figure::exact)),
        (amount::REQUESTED, profile.requested),
        (amount::NOT_KV, profile.not_kv),
        (amount::ACTIVATION, profile.activation),
        (amount::NON_TORCH, profile.non_torch),
        (amount::CONSUMED, profile.consumed),
        (amount::WEIGHTS, profile.weights),
    ];
    keep(facts, &amounts, label, place);
}

fn accounted(facts: &mut Facts, account: &Account, label: &str, place: &Place) {
    let amounts = [
        (amount::TOTAL, Some(account.total)),
        (amount::FREE, Some(account.free)),
        (amount::SHARE, Some(Figure::exact(account.share))),
        (amount::REQUESTED, Some(account.requested)),
        (amount::WEIGHTS, account.weights),
        (amount::CONSUMED, account.consumed),
        (amount::ACTIVATION, account.activation),
        (amount::NON_TORCH, account.non_torch),
        (amount::GRAPHS, account.graphs),
        (amount::KV, account.kv),
        (amount::TO_FIT, account.to_fit.map(line::Suggestion::gib)),
        (amount::TO_FILL, account.to_fill.map(line::Suggestion::gib)),
    ];
    keep(facts, &amounts, label, place);
}

fn first(facts: &mut Facts, account: &FirstAccount, label: &str, place: &Place) {
    once(facts, message::FIRST_ENGINE, label, place);
    match *account {
        FirstAccount::Share { total, share, requested } => {
            let share = share.map(|value| Figure { value, low: value - 0.005, high: value + 0.005 });
            keep(facts, &[(amount::TOTAL, Some(total)), (amount::SHARE, share), (amount::REQUESTED, Some(requested))], label, place);
        }
        FirstAccount::Terms { weights, non_torch, activation, kv } => {
            let amounts =
                [(amount::WEIGHTS, weights), (amount::NON_TORCH, non_torch), (amount::ACTIVATION, activation), (amount::KV, Some(kv))];
            keep(facts, &amounts, label, place);
        }
    }
}

fn oldest(facts: &mut Facts, profile: &FirstProfile, label: &str, place: &Place) {
    once(facts, message::FIRST_ENGINE, label, place);
    let share = profile.share.map(|value| Figure { value, low: value - 0.005, high: value + 0.005 });
    let amounts = [
        (amount::TOTAL, profile.total),
        (amount::FREE, profile.free),
        (amount::INITIAL, profile.initial),
        (amount::PEAK_TORCH, profile.peak_torch),
        (amount::NON_TORCH, profile.non_torch),
        (amount::PEAK, profile.peak),
        (amount::KV, profile.kv),
        (amount::SHARE, share),
        (amount::BLOCK_BYTES, profile.block_bytes.map(Figure::exact)),
    ];
    keep(facts, &amounts, label, place);
}
