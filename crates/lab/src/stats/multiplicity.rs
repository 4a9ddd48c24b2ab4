//! Several p-values at once. Fixed shares of alpha, which sequential contrasts need, belong to `design`.

use super::error::{StatsError, check_probability};

/// Adjusts p-values so that the chance of any false claim stays below the level (Holm's step-down).
///
/// In ascending order `max over earlier of (m - i) p_(i)`, at most 1; the result is in the order given. S. Holm, Scand. J. Stat. 6 (1979).
///
/// # Errors
/// A value that is no probability.
pub fn holm(p: &[f64]) -> Result<Vec<f64>, StatsError> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = largest;
    }
    Ok(adjusted)
}

/// Adjusts p-values so that the expected share of false claims stays below the level (Benjamini-Hochberg); for exploratory metrics.
///
/// In descending order `min over later of (m / i) p_(i)`, at most 1; the result is in the order given. Y. Benjamini and Y. Hochberg, JRSS B 57 (1995).
///
/// # Errors
/// A value that is no probability.
pub fn benjamini_hochberg(p: &[f64]) -> Result<Vec<f64>, StatsError> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest: f64 = 1.0;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p.len() as f64 / (rank + 1) as f64 * p[index]);
        adjusted[index] = smallest;
    }
    Ok(adjusted)
}

fn ascending(p: &[f64]) -> Result<Vec<usize>, StatsError> {
    p.iter().try_for_each(|value| check_probability("p", *value).map(drop))?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    Ok(order)
}
