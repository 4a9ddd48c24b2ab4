//! Values that lie far from the others: said with how many and how far, since no average tells of them and no interval here allows for them.

use super::location::median;

/// A value is far away where it is more than this many robust standard deviations from the median. Of five values of a normal sample one is at 3.5, the
/// usual bound, much too often.
const FAR: f64 = 10.0;
/// The same where the mean deviation stands in (B. Iglewicz and D. C. Hoaglin, 1993).
const FAR_FROM_EQUALS: f64 = 3.5;
/// What makes the median absolute deviation of a normal sample its standard deviation.
const OF_MEDIAN: f64 = 1.482_602_218_505_602;
/// The same of the mean absolute deviation, which stands in where more than half of the values are equal.
const OF_MEAN: f64 = 1.253_314_137_315_5;
/// Fewer values have no others to be far from.
const FEWEST: usize = 5;

/// Values that lie far from the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spikes {
    /// How many.
    pub count: usize,
    /// The one that is farthest away.
    pub farthest: f64,
    /// The median of all.
    pub median: f64,
}

/// Finds them; `None` where there is none, or fewer than five values.
#[must_use]
pub fn spikes(values: &[f64]) -> Option<Spikes> {
    let middle = median(values).filter(|_| values.len() >= FEWEST)?;
    let away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let of_median = median(&away)? * OF_MEDIAN;
    let of_mean = away.iter().sum::<f64>() / away.len() as f64 * OF_MEAN;
    let bound = if of_median > 0.0 { FAR * of_median } else { FAR_FROM_EQUALS * of_mean };
    let far: Vec<f64> = values.iter().copied().filter(|value| (value - middle).abs() > bound).collect();
    let farthest = far.iter().copied().max_by(|one, other| (one - middle).abs().total_cmp(&(other - middle).abs()))?;
    Some(Spikes { count: far.len(), farthest, median: middle })
}

#[cfg(test)]
mod tests {
    use super::{Spikes, spikes};

    #[test]
    fn what_is_far_from_the_others_is_counted() {
        assert_eq!(spikes(&[1.0, 1.1, 0.9, 1.05, 8.0, 0.95]), Some(Spikes { count: 1, farthest: 8.0, median: 1.025 }));
        assert_eq!(spikes(&[1.0, 1.1, 0.9, 1.05, 0.95]), None);
        assert_eq!(spikes(&[5.0; 6]), None);
        assert_eq!(spikes(&[5.0, 5.0, 5.0, 5.0, 5.0, 9.0]).map(|found| found.farthest), Some(9.0), "most of them equal");
        assert_eq!(spikes(&[1.0, 1.1, 0.9, 900.0]), None, "too few to say which is odd");
        assert_eq!(spikes(&[]), None);
    }
}
