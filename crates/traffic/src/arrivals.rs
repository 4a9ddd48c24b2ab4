//! When requests are meant to start.
//!
//! In an open loop that is decided beforehand and waits for nobody: a request that starts late keeps its intended time, so that a slow server cannot
//! hide its slowness by slowing its client (coordinated omission). In a closed loop a request is meant to start when one before it ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bystander_model::traffic::{Amount, Arrival};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::clock::{Ns, SECOND, ns};

/// After a request that failed, its place waits this long: a client that hammers a server which refuses measures nothing.
const PAUSE: Ns = SECOND / 20;

/// The times of the starts of one part of a load.
#[derive(Debug)]
pub(crate) struct Arrivals {
    pace: Pace,
    /// How many may still start.
    left: u64,
    /// From when on none starts any more.
    until: Ns,
}

#[derive(Debug)]
enum Pace {
    /// Each place is free from a time on.
    Closed { free: BinaryHeap<Reverse<Ns>> },
    /// On their own.
    Open { next: f64, mean: f64, random: Option<Box<ChaCha8Rng>> },
}

impl Arrivals {
    /// Begins at `start`.
    pub(crate) fn new(arrival: Arrival, amount: Amount, seed: u64, start: Ns) -> Self {
        let (left, until) = match amount {
            Amount::Requests(requests) => (requests, Ns::MAX),
            Amount::Seconds(seconds) => (u64::MAX, start.saturating_add(ns(seconds))),
        };
        let open = |rate: f64, random| Pace::Open { next: start as f64, mean: SECOND as f64 / rate, random };
        let pace = match arrival {
            Arrival::Closed { concurrency } => Pace::Closed { free: (0..concurrency).map(|_| Reverse(start)).collect() },
            Arrival::Constant { rate } => open(rate, None),
            Arrival::Poisson { rate } => open(rate, Some(Box::new(ChaCha8Rng::seed_from_u64(seed ^ 0x6172_7269_7661_6C73)))),
        };
        let mut arrivals = Self { pace, left, until };
        arrivals.draw();
        arrivals
    }

    /// When the next one is meant to start; `None` where none is until another ends, or none is any more.
    pub(crate) fn next(&self) -> Option<Ns> {
        if self.left == 0 {
            return None;
        }
        let next = match &self.pace {
            Pace::Closed { free } => free.peek()?.0,
            Pace::Open { next, .. } => *next as Ns,
        };
        (next < self.until).then_some(next)
    }

    /// Takes the next one, where it is due.
    pub(crate) fn take(&mut self, now: Ns) -> Option<Ns> {
        let due = self.next().filter(|next| *next <= now)?;
        self.left -= 1;
        if let Pace::Closed { free } = &mut self.pace {
            free.pop();
        } else {
            self.advance();
        }
        Some(due)
    }

    /// Says that one ended.
    pub(crate) fn ended(&mut self, at: Ns, failed: bool) {
        if let Pace::Closed { free } = &mut self.pace {
            free.push(Reverse(if failed { at.saturating_add(PAUSE) } else { at }));
        }
    }

    /// The first arrival of a Poisson process is a wait, too.
    fn draw(&mut self) {
        if matches!(self.pace, Pace::Open { random: Some(_), .. }) {
            self.advance();
        }
    }

    fn advance(&mut self) {
        if let Pace::Open { next, mean, random } = &mut self.pace {
            // 1 - u lies in (0, 1], so that its logarithm is a number.
            *next += random.as_mut().map_or(*mean, |random| -(1.0 - random.random::<f64>()).ln() * *mean);
        }
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::traffic::{Amount, Arrival};

    use super::{Arrivals, PAUSE};
    use crate::clock::SECOND;

    fn all(arrivals: &mut Arrivals) -> Vec<u64> {
        std::iter::from_fn(|| arrivals.take(u64::MAX)).collect()
    }

    #[test]
    fn even_arrivals_keep_their_rate_whoever_is_late() {
        let mut arrivals = Arrivals::new(Arrival::Constant { rate: 10.0 }, Amount::Seconds(1.0), 1, 5 * SECOND);
        let starts = all(&mut arrivals);
        assert_eq!(starts.len(), 10);
        assert_eq!((starts[0], starts[9]), (5 * SECOND, 5 * SECOND + 9 * SECOND / 10));
    }

    #[test]
    fn random_arrivals_have_the_rate_and_the_spread_of_a_poisson_process_and_depend_on_the_seed_alone() {
        let draw = |seed| all(&mut Arrivals::new(Arrival::Poisson { rate: 1000.0 }, Amount::Requests(20_000), seed, 0));
        let starts = draw(7);
        assert_eq!(starts, draw(7));
        assert_ne!(starts, draw(8));
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / SECOND as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // Twenty thousand exponential gaps: both lie within 5 standard errors, 3.5 and 5 percent.
        assert!((mean * 1000.0 - 1.0).abs() < 0.035 && (deviation / mean - 1.0).abs() < 0.05, "{mean} {deviation}");
    }

    #[test]
    fn a_closed_loop_starts_one_for_each_that_ends_and_waits_after_a_failure() {
        let mut arrivals = Arrivals::new(Arrival::Closed { concurrency: 2 }, Amount::Requests(4), 1, 100);
        assert_eq!([arrivals.take(100), arrivals.take(100), arrivals.take(100)], [Some(100), Some(100), None]);
        assert_eq!(arrivals.next(), None);
        arrivals.ended(200, false);
        arrivals.ended(200, true);
        assert_eq!([arrivals.take(300), arrivals.take(300)], [Some(200), None]);
        assert_eq!(arrivals.next(), Some(200 + PAUSE));
        assert_eq!(arrivals.take(200 + PAUSE), Some(200 + PAUSE));
        arrivals.ended(400, false);
        assert_eq!(arrivals.next(), None, "four were asked for");
    }
}
