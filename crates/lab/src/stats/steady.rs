//! Whether a series of measurements settles: change points, and how much of its beginning is warm-up. For series within one launch, which are no
//! replicates: what is found describes the launch and enters no test.

use super::error::{StatsError, check_sample};

/// The least length of a segment: a variance needs two values.
const SHORTEST: usize = 2;
/// The penalty of a change point is this times `ln n`, as in E. Barrett et al., *Virtual Machine Warmup Blows Hot and Cold* (OOPSLA 2017).
const PENALTY: f64 = 15.0;
/// A change within this share of the end means that the series did not settle: a quarter, as 500 of 2,000 iterations in the same source.
const END: f64 = 0.25;
/// Levels that differ by less than this share are the same, however narrow they are: the same source holds those within a millisecond for one.
const SAME: f64 = 0.01;
/// The least variance of a segment, relative to the largest square of the series: the rounding of equal values is no level of its own.
const FLOOR: f64 = 1e-18;

/// What becomes of a series in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It stays as it begins.
    Flat,
    /// It falls to its lowest level and stays there, from this value on.
    WarmUp(usize),
    /// It ends on a level above an earlier one, from this value on.
    SlowDown(usize),
    /// It still changes towards its end.
    NoSteadyState,
}

/// Finds where mean or variance of a series change: the first value of each new segment.
///
/// PELT (R. Killick, P. Fearnhead, I. A. Eckley, JASA 107, 2012) over normal segments with a penalty of `15 ln n`: exact, and fast where there are changes.
///
/// # Errors
/// Fewer than two values, or values not finite.
pub fn change_points(series: &[f64]) -> Result<Vec<usize>, StatsError> {
    check_sample(series, SHORTEST)?;
    let (sums, n) = (Sums::of(series), series.len());
    let penalty = PENALTY * (n as f64).ln();
    let mut best = vec![f64::INFINITY; n + 1];
    let mut before = vec![0; n + 1];
    best[0] = -penalty;
    let mut candidates = vec![0];
    // From which end on a start need not be looked at any more.
    let mut useless_from = vec![usize::MAX; n + 1];
    for end in SHORTEST..=n {
        candidates.retain(|start| useless_from[*start] > end);
        let costs: Vec<f64> = candidates.iter().map(|start| best[*start] + sums.cost(*start, end)).collect();
        for (start, cost) in candidates.iter().zip(&costs) {
            if cost + penalty < best[end] {
                (best[end], before[end]) = (cost + penalty, *start);
            }
        }
        // A start that is worse even without the penalty is worse for every end that a segment from here can reach.
        for (start, _) in candidates.iter().zip(&costs).filter(|(_, cost)| **cost > best[end]) {
            useless_from[*start] = useless_from[*start].min(end + SHORTEST);
        }
        candidates.extend((end + 1).checked_sub(SHORTEST).filter(|start| *start >= SHORTEST));
    }
    let mut found = Vec::new();
    let mut at = before[n];
    while at > 0 {
        found.push(at);
        at = before[at];
    }
    found.reverse();
    Ok(found)
}

/// How many values at the beginning are best left out, by the marginal standard error rule: the cut of the first half that makes the variance of the rest
/// over the square of its length least (K. P. White, *Simulation* 69, 1997); and that value.
///
/// # Errors
/// Fewer than two values, or values not finite.
pub fn mser(series: &[f64]) -> Result<(usize, f64), StatsError> {
    check_sample(series, SHORTEST)?;
    let sums = Sums::of(series);
    let n = series.len();
    let of = |cut: usize| sums.squares_about_mean(cut, n) / ((n - cut) as f64).powi(2);
    let mut best = (0, of(0));
    for cut in 1..=n / 2 {
        let value = of(cut);
        if value < best.1 {
            best = (cut, value);
        }
    }
    Ok(best)
}

/// Says what becomes of a series of times, where less is better. Levels that differ by no more than a standard deviation of the last one, or one percent of it, are the same.
///
/// # Errors
/// Fewer than two values, or values not finite.
pub fn course(series: &[f64]) -> Result<Course, StatsError> {
    let starts: Vec<usize> = std::iter::once(0).chain(change_points(series)?).collect();
    let sums = Sums::of(series);
    let ends = starts.iter().skip(1).copied().chain([series.len()]);
    let segments: Vec<(usize, f64, f64)> =
        starts.iter().copied().zip(ends).map(|(start, end)| (start, sums.mean(start, end), sums.variance(start, end).sqrt())).collect();
    let Some((_, last, width)) = segments.last().copied() else { return Ok(Course::Flat) };
    let differs = |mean: f64| (mean - last).abs() > width.max(SAME * last.abs());
    // The first value of the stretch at the end that is all on the last level.
    let settled = segments.iter().rposition(|(_, mean, _)| differs(*mean)).map_or(0, |index| segments[index + 1].0);
    if settled == 0 {
        return Ok(Course::Flat);
    }
    if settled as f64 > series.len() as f64 * (1.0 - END) {
        return Ok(Course::NoSteadyState);
    }
    let lower = segments.iter().any(|(_, mean, _)| differs(*mean) && *mean < last);
    Ok(if lower { Course::SlowDown(settled) } else { Course::WarmUp(settled) })
}

/// Sums up to each value, of values and squares about the first value: about nought they would lose the digits that make a variance.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
    origin: f64,
    least_variance: f64,
}

impl Sums {
    fn of(series: &[f64]) -> Self {
        let origin = series.first().copied().unwrap_or_default();
        let running = |of: fn(f64) -> f64| {
            let mut sum = 0.0;
            std::iter::once(0.0)
                .chain(series.iter().map(move |value| {
                    sum += of(value - origin);
                    sum
                }))
                .collect::<Vec<f64>>()
        };
        let largest = series.iter().map(|value| value.abs()).fold(0.0, f64::max);
        Self {
            values: running(|value| value),
            squares: running(|value| value * value),
            origin,
            least_variance: (largest * largest * FLOOR).max(f64::MIN_POSITIVE),
        }
    }

    fn mean(&self, start: usize, end: usize) -> f64 {
        self.origin + (self.values[end] - self.values[start]) / (end - start) as f64
    }

    fn squares_about_mean(&self, start: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[start];
        (self.squares[end] - self.squares[start] - sum * sum / (end - start) as f64).max(0.0)
    }

    fn variance(&self, start: usize, end: usize) -> f64 {
        self.squares_about_mean(start, end) / (end - start) as f64
    }

    /// Twice the negative log-likelihood of a normal segment at its own mean and variance.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let variance = self.variance(start, end).max(self.least_variance);
        (end - start) as f64 * ((2.0 * std::f64::consts::PI * variance).ln() + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Course, change_points, course, mser};

    /// A series of levels, each of so many values, with a small ripple that has no trend.
    fn levels(of: &[(usize, f64)]) -> Vec<f64> {
        let flat = of.iter().flat_map(|(n, level)| std::iter::repeat_n(*level, *n));
        flat.enumerate().map(|(index, level)| level + [0.0, 0.3, -0.2, 0.1, -0.3, 0.2][index * 7 % 6]).collect()
    }

    #[test]
    fn the_course_of_a_series_is_told_by_its_levels() {
        assert_eq!(course(&levels(&[(80, 10.0)])), Ok(Course::Flat));
        assert_eq!(course(&levels(&[(20, 20.0), (80, 10.0)])), Ok(Course::WarmUp(20)));
        assert_eq!(course(&levels(&[(20, 30.0), (20, 20.0), (60, 10.0)])), Ok(Course::WarmUp(40)));
        assert_eq!(course(&levels(&[(40, 10.0), (60, 20.0)])), Ok(Course::SlowDown(40)));
        assert_eq!(course(&levels(&[(90, 10.0), (15, 20.0)])), Ok(Course::NoSteadyState));
        assert_eq!(course(&levels(&[(40, 10.0), (10, 10.1), (50, 10.0)])), Ok(Course::Flat), "too small to be a level");
    }

    #[test]
    fn equal_values_and_short_series_are_flat() {
        for series in [vec![0.1; 40], vec![0.0; 3], vec![1e9, 1e9], vec![3.0, 1.0]] {
            assert_eq!(course(&series), Ok(Course::Flat), "{series:?}");
            assert!(change_points(&series).is_ok_and(|found| found.is_empty()));
        }
        assert!(course(&[1.0]).is_err() && mser(&[]).is_err() && change_points(&[1.0, f64::NAN]).is_err());
        assert_eq!(mser(&[5.0, 5.0, 5.0, 5.0]).map(|found| found.0), Ok(0));
    }

    /// The pruning must lose nothing: every end is compared with a search through all starts.
    #[test]
    fn pruning_finds_what_a_search_through_everything_finds() {
        for (seed, of) in
            [[(17, 3.0), (9, 9.0), (30, 4.0)], [(5, 1.0), (25, 7.0), (11, 1.5)], [(2, 50.0), (2, 1.0), (40, 20.0)]].iter().enumerate()
        {
            let series = levels(of);
            let (sums, n) = (super::Sums::of(&series), series.len());
            let penalty = super::PENALTY * (n as f64).ln();
            let mut best = vec![(f64::INFINITY, Vec::new()); n + 1];
            best[0] = (-penalty, Vec::new());
            for end in 2..=n {
                for start in (0..=end - 2).filter(|start| *start != 1) {
                    let cost = best[start].0 + sums.cost(start, end) + penalty;
                    if cost < best[end].0 {
                        let points = best[start].1.iter().copied().chain((start > 0).then_some(start)).collect();
                        best[end] = (cost, points);
                    }
                }
            }
            assert_eq!(change_points(&series).as_ref(), Ok(&best[n].1), "series {seed}");
        }
    }
}
