//! The formula by which SGLang sizes its KV cache, without logs or hits.
//!
//! Source: SGLang 0.4.3 to 0.5.6 `model_executor/model_runner.py`, 0.5.7 to 0.5.10 `model_executor/model_runner_kv_cache_mixin.py`, both
//! `profile_max_num_token`; 0.5.11 to 0.5.15 `model_executor/pool_configurator.py`, up to 0.5.23 `mem_cache/kv_cache_configurator.py`.

use bystander_model::budget::{Alternative, Figure};

use crate::figures::{decimal, fraction, is_exact, up_at_sixth};

/// Bytes in a GiB.
pub const GIB: f64 = 1_073_741_824.0;

/// The inputs of the formula.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizing {
    /// Free memory before the weights, minimum over ranks, in GiB.
    pub total: Figure,
    /// Free memory after the weights, minimum over ranks, in GiB.
    pub available: Figure,
    /// The static fraction: what weights and KV cache together may take of `total`.
    pub fraction: f64,
}

impl Sizing {
    /// The same server with another fraction.
    #[must_use]
    pub const fn at(self, fraction: f64) -> Self {
        Self { fraction, ..self }
    }

    /// What is left for the KV cache, in GiB: `available - total * (1 - fraction)`.
    #[must_use]
    pub fn rest(&self) -> Figure {
        let rest = |available: f64, total: f64| available - total * (1.0 - self.fraction);
        Figure {
            value: rest(self.available.value, self.total.value),
            low: rest(self.available.low, self.total.high),
            high: rest(self.available.high, self.total.low),
        }
    }

    /// What the weights took, and whatever else was allocated while they were loaded, in GiB.
    #[must_use]
    pub fn weights(&self) -> Figure {
        Figure {
            value: self.total.value - self.available.value,
            low: self.total.low - self.available.high,
            high: self.total.high - self.available.low,
        }
    }

    /// The fraction above which the KV cache is more than nothing, `1 - available / total`, rounded up at the sixth decimal; one or more where reserves
    /// take all that is left, so that no fraction works.
    #[must_use]
    pub fn break_even(&self) -> Figure {
        let even = |available: f64, total: f64| up_at_sixth(1.0 - available / total);
        // Below nothing a larger total is the lower bound.
        let ends = |available: f64| [even(available, self.total.low), even(available, self.total.high)];
        let (most, least) = (ends(self.available.high), ends(self.available.low));
        Figure { value: even(self.available.value, self.total.value), low: most[0].min(most[1]), high: least[0].max(least[1]) }
    }

    /// What is left over for everything else once weights and KV cache have their share, in GiB: graphs, activations, the request table.
    /// Where the weights alone take more than the share, it is what they leave.
    #[must_use]
    pub fn headroom(&self) -> Figure {
        let over = |total: f64, available: f64| (total * (1.0 - self.fraction)).min(available);
        Figure {
            value: over(self.total.value, self.available.value),
            low: over(self.total.low, self.available.low),
            high: over(self.total.high, self.available.high),
        }
    }

    /// Tokens of KV cache, before they are rounded down to whole pages; zero or less means that the server cannot start.
    #[must_use]
    pub fn tokens(&self, cell: Cell) -> Figure {
        let rest = self.rest();
        let all = [rest.low / cell.low, rest.low / cell.high, rest.high / cell.low, rest.high / cell.high];
        let tokens = |gib_per_byte: f64| (gib_per_byte * GIB).floor();
        // The engine cuts bytes before it divides; with a negative rest that is toward zero.
        let value = ((rest.value * GIB).trunc() / cell.value).floor();
        if is_exact(&rest) && cell.is_exact() {
            return Figure::exact(value);
        }
        let low = all.iter().copied().fold(f64::INFINITY, f64::min);
        let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Figure { value, low: tokens(low).min(value), high: tokens(high).max(value) }
    }

    /// The equation with its numbers, such as `rest = 21.697 − 93.999 × (1 − 0.55) = −20.603 GiB`.
    ///
    /// Numbers that were measured show three decimals, numbers from a log as many as the log has, and the result its range.
    #[must_use]
    pub fn equation(&self) -> String {
        let rest = self.rest();
        let places = decimals_of;
        let decimals = places(&self.total).min(places(&self.available));
        let range = if is_exact(&rest) { String::new() } else { format!(" (\u{b1}{:.3})", (rest.high - rest.low) / 2.0) };
        format!(
            "rest = {} \u{2212} {} \u{d7} (1 \u{2212} {}) = {} GiB{range}",
            decimal(self.available.value, places(&self.available)),
            decimal(self.total.value, places(&self.total)),
            fraction(self.fraction),
            decimal(rest.value, decimals),
        )
    }

    /// What other fractions would give: the asked one, the break-even, the next hundredth above it, and usual ones above that.
    #[must_use]
    pub fn alternatives(&self, cell: Option<Cell>) -> Vec<Alternative> {
        let even = self.break_even().value;
        let next = ((even * 100.0).floor() + 1.0) / 100.0;
        let usual = [0.80, 0.85, 0.88, 0.90].into_iter().filter(|usual| *usual > even);
        let mut all: Vec<f64> = [self.fraction, even, next].into_iter().chain(usual).filter(|f| *f > 0.0 && *f < 1.0).collect();
        all.sort_by(f64::total_cmp);
        all.dedup_by(|a, b| (*a - *b).abs() < 5e-7);
        let alternative = |fraction: f64| {
            let other = self.at(fraction);
            Alternative { fraction, rest_gib: other.rest(), tokens: cell.map(|cell| other.tokens(cell)), headroom_gib: other.headroom() }
        };
        all.into_iter().map(alternative).collect()
    }
}

/// The decimals that a figure is known to: three where it was measured or printed with as many, two in the engines' own lines.
#[must_use]
pub fn decimals_of(figure: &Figure) -> usize {
    if figure.high - figure.low < 0.0015 { 3 } else { 2 }
}

/// Bytes of KV cache per token and rank; always positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The best value.
    pub value: f64,
    /// The least value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
}

impl Cell {
    /// A cell of exactly so many bytes; `None` for zero.
    #[must_use]
    pub fn exact(bytes: u64) -> Option<Self> {
        let bytes = bytes as f64;
        (bytes > 0.0).then_some(Self { value: bytes, low: bytes, high: bytes })
    }

    /// Told from a pool of so many slots and its size in GiB. The pool has a page more than it has tokens.
    #[must_use]
    pub fn of_pool(tokens: f64, page: f64, size: Figure) -> Option<Self> {
        let slots = tokens + page;
        let cell = Self { value: size.value * GIB / slots, low: size.low * GIB / slots, high: size.high * GIB / slots };
        (slots > 0.0 && cell.low > 0.0 && cell.high.is_finite()).then_some(cell)
    }

    /// Narrowed by what the formula gave: `tokens` whole pages fit into `rest`, and one page more does not. `None` where the two contradict.
    #[must_use]
    pub fn within_rest(self, tokens: f64, page: f64, rest: Figure) -> Option<Self> {
        let low = self.low.max(rest.low * GIB / (tokens + page));
        let high = self.high.min(rest.high * GIB / tokens);
        // Both ends are as likely: a pool that was printed as 0.01 GB says nothing by its own value.
        (tokens > 0.0 && low <= high).then(|| Self { value: f64::midpoint(low, high), low, high })
    }

    /// Whether it has no range.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.low >= self.high
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::budget::Figure;

    use super::Sizing;

    fn figure(value: f64, half: f64) -> Figure {
        Figure { value, low: value - half, high: value + half }
    }

    #[test]
    fn the_break_even_has_its_bounds_in_order_below_nothing_too() {
        for available in [12.5, 0.0, -0.2522, -3000.0] {
            let sizing = Sizing { total: figure(23.5, 0.005), available: figure(available, 0.005), fraction: 0.842 };
            let even = sizing.break_even();
            assert!(even.low <= even.value && even.value <= even.high, "{available}: {even:?}");
        }
    }
}
