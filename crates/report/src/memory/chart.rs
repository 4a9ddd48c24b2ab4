//! A quantity over time as rows of blocks: what a terminal of 80 columns can show of it, without colour.

use bystander_model::samples::Series;

/// Eighths of a block, from none to all of it.
const BLOCKS: [char; 9] = [' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];
/// The same where only ASCII may be used.
const PLAIN: [char; 9] = [' ', '.', '.', ':', ':', '=', '=', '#', '#'];

/// How a quantity is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drawn {
    /// Columns.
    pub(crate) columns: usize,
    /// Rows.
    pub(crate) rows: usize,
    /// The value that fills all rows.
    pub(crate) full: u64,
    /// The moment at the right end, in seconds; the left one is 0.
    pub(crate) end_s: f64,
    /// Whether a column shows the least of its span instead of the largest value.
    pub(crate) least: bool,
    /// Whether characters beyond ASCII may be used.
    pub(crate) unicode: bool,
}

impl Drawn {
    /// The column that a moment falls into.
    pub(crate) fn column(&self, at_s: f64) -> usize {
        let share = if self.end_s > 0.0 { (at_s / self.end_s).clamp(0.0, 1.0) } else { 0.0 };
        ((share * self.columns as f64) as usize).min(self.columns.saturating_sub(1))
    }

    /// The value of each column; `None` before the first sample.
    fn values(&self, series: &Series) -> Vec<Option<u64>> {
        let mut columns: Vec<Option<u64>> = vec![None; self.columns];
        for (at, value) in &series.0 {
            if let Some(slot) = columns.get_mut(self.column(*at)) {
                let kept = |known: u64| if self.least { known.min(*value) } else { known.max(*value) };
                *slot = Some(slot.map_or(*value, kept));
            }
        }
        // What was seen last holds until something else is seen.
        let mut last = None;
        for slot in &mut columns {
            last = slot.or(last);
            *slot = last;
        }
        columns
    }

    /// The rows from top to bottom.
    pub(crate) fn rows(&self, series: &Series) -> Vec<String> {
        let signs = if self.unicode { BLOCKS } else { PLAIN };
        let steps = self.rows * 8;
        let level = |value: u64| {
            let share = if self.full == 0 { 0.0 } else { (value as f64 / self.full as f64).clamp(0.0, 1.0) };
            // Something is never drawn as nothing.
            ((share * steps as f64).round() as usize).max(usize::from(value > 0))
        };
        let levels: Vec<usize> = self.values(series).into_iter().map(|value| value.map_or(0, level)).collect();
        let row = |above: usize| levels.iter().map(|level| signs[level.saturating_sub(above * 8).min(8)]).collect::<String>();
        (0..self.rows).rev().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use bystander_model::samples::Series;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::Drawn;

    fn drawn(columns: usize, rows: usize, full: u64, end_s: f64) -> Drawn {
        Drawn { columns, rows, full, end_s, least: false, unicode: true }
    }

    #[test]
    fn each_column_has_the_largest_value_of_its_span_and_gaps_are_bridged() {
        let series = Series(vec![(0.0, 1), (1.0, 8), (1.1, 2), (4.0, 4)]);
        assert_eq!(drawn(6, 1, 8, 6.0).rows(&series), ["\u{2581}\u{2588}\u{2588}\u{2588}\u{2584}\u{2584}"]);
        let least = Drawn { least: true, ..drawn(6, 1, 8, 6.0) };
        assert_eq!(least.rows(&series), ["\u{2581}\u{2582}\u{2582}\u{2582}\u{2584}\u{2584}"]);
    }

    #[test]
    fn rows_are_stacked_and_a_little_is_never_nothing() {
        let series = Series(vec![(0.0, 1), (1.0, 1000), (2.0, 500), (3.0, 0)]);
        assert_eq!(drawn(4, 2, 1000, 4.0).rows(&series), [" \u{2588}  ", "\u{2581}\u{2588}\u{2588} "]);
        let plain = Drawn { unicode: false, ..drawn(4, 2, 1000, 4.0) };
        assert_eq!(plain.rows(&series), [" #  ", ".## "]);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert_eq!(drawn(3, 1, 0, 0.0).rows(&Series::default()), ["   "]);
        assert_eq!(drawn(0, 1, 5, 1.0).rows(&Series(vec![(0.0, 5)])), [""]);
        // A first sample that comes late leaves what was before it open.
        assert_eq!(drawn(4, 1, 5, 4.0).rows(&Series(vec![(2.0, 5)])), ["  \u{2588}\u{2588}"]);
    }

    proptest! {
        #[test]
        fn any_series_fits_its_rows(
            points in proptest::collection::vec((any::<f64>(), any::<u64>()), 0..50),
            columns in 0_usize..90,
            rows in 0_usize..6,
            full in any::<u64>(),
            end in any::<f64>(),
        ) {
            let lines = drawn(columns, rows, full, end).rows(&Series(points));
            prop_assert_eq!(lines.len(), rows);
            prop_assert!(lines.iter().all(|line| line.chars().count() == columns));
        }
    }
}
