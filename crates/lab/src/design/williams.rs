//! Williams designs: fixed orders that balance what one launch leaves to the next. The randomised order belongs to `order`.

/// Gives the rows of a Williams design for `cells` cells: each cell once per row and equally often in each place, and each ordered pair of
/// neighbours equally often.
///
/// First row 0, 1, n-1, 2, n-2, …; row i adds i modulo n; for an odd number of cells the reversed rows follow. E. J. Williams, Aust. J. Sci. Res. A 2
/// (1949). One row per cell, or two if odd.
#[must_use]
pub fn rows(cells: usize) -> Vec<Vec<usize>> {
    let first: Vec<usize> = (0..cells).map(|place| if place % 2 == 1 { place.div_ceil(2) } else { (cells - place / 2) % cells }).collect();
    let forth: Vec<Vec<usize>> = (0..cells).map(|shift| first.iter().map(|cell| (cell + shift) % cells).collect()).collect();
    let back = forth.iter().filter(|_| cells % 2 == 1 && cells > 1).map(|row| row.iter().rev().copied().collect());
    forth.iter().cloned().chain(back).collect()
}
