//! What probes saw of the sizing: exact numbers, by the names that the engine's source gives them.

use std::collections::BTreeMap;

use bystander_model::evidence::{Evidence, EvidenceKind};
use bystander_model::hit::Hit;
use bystander_model::ids::TrialId;

/// Processes whose hits are kept.
const PROCESSES: usize = 256;

/// A quantity of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Quantity {
    Total,
    Available,
    Fraction,
    Rest,
    Cell,
    Tokens,
    /// What is kept back for multimodal models before the KV cache.
    Reserved,
}

/// The quantity that a captured expression is, in any release from 0.4.3 to 0.5.23.
fn quantity(expression: &str) -> Option<Quantity> {
    Some(match expression.rsplit('.').next().unwrap_or(expression).trim() {
        "total_gpu_memory" | "min_per_gpu_memory" | "pre_model_load_memory" => Quantity::Total,
        "available_gpu_memory" | "post_model_load_memory" => Quantity::Available,
        "mem_fraction_static" => Quantity::Fraction,
        "rest_memory" => Quantity::Rest,
        "cell_size" => Quantity::Cell,
        "max_num_token" | "token_capacity" => Quantity::Tokens,
        "mm_reservation_gb" => Quantity::Reserved,
        _ => return None,
    })
}

/// One captured number and where it was captured.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) value: f64,
    pub(crate) rank: Option<u32>,
    place: String,
    text: String,
}

impl Captured {
    /// The hit as evidence.
    pub(crate) fn evidence(&self, trial: TrialId) -> Evidence {
        Evidence { trial: Some(trial), kind: EvidenceKind::Hit, place: self.place.clone(), text: self.text.clone() }
    }
}

/// The first number that each process showed of each quantity. A draft model's worker computes the same again later, for its own purposes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hits {
    by_process: BTreeMap<u32, BTreeMap<Quantity, Captured>>,
}

impl Hits {
    /// Takes a hit.
    pub(crate) fn hit(&mut self, hit: &Hit) {
        if self.by_process.len() == PROCESSES && !self.by_process.contains_key(&hit.pid) {
            return;
        }
        for (expression, value) in &hit.values {
            let (Some(quantity), Some(number)) = (quantity(expression), value.as_f64().filter(|number| number.is_finite())) else {
                continue;
            };
            let captured = || Captured {
                value: number,
                rank: hit.rank,
                place: format!("{}/pid {}/{}", hit.probe, hit.pid, hit.seq),
                text: format!("{expression} = {number}"),
            };
            self.by_process.entry(hit.pid).or_default().entry(quantity).or_insert_with(captured);
        }
    }

    /// The number of a quantity: the least over processes for free memory, as the engine takes it, and the first process's otherwise.
    pub(crate) fn get(&self, quantity: Quantity) -> Option<&Captured> {
        let mut all = self.all(quantity);
        match quantity {
            Quantity::Total | Quantity::Available => all.min_by(|a, b| a.value.total_cmp(&b.value)),
            _ => all.next(),
        }
    }

    /// Whether processes showed different numbers, which they do not where the engine has taken the minimum before.
    pub(crate) fn differ(&self, quantity: Quantity) -> bool {
        let first = self.all(quantity).next().map(|first| first.value);
        self.all(quantity).any(|other| first.is_some_and(|first| (first - other.value).abs() > 1e-6 * first.abs().max(1.0)))
    }

    fn all(&self, quantity: Quantity) -> impl Iterator<Item = &Captured> {
        self.by_process.values().filter_map(move |captured| captured.get(&quantity))
    }
}
