//! A line of the log: its stamp with the labels of the rank, what follows, and numbers by the names before them.

use std::sync::LazyLock;

use bystander_model::budget::Figure;
use regex::Regex;

use crate::figures::rounded;

/// The labels in the stamp of a line, such as `DP0 TP1`, and the text after it.
///
/// A progress bar may stand before the stamp. A report may have left out the time: `[TP4] Capture …`.
pub(super) fn split(text: &str) -> (&str, &str) {
    static STAMP: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?((?: [A-Z_]+\d+)*)\] ?|^\[((?:[A-Z][A-Z_]*\d+ ?)+)\] ")
            .expect("a literal pattern")
    });
    let Some(found) = STAMP.captures(text) else { return ("", text) };
    let labels = found.get(1).or_else(|| found.get(2)).map_or("", |labels| labels.as_str().trim());
    (labels, &text[found.get(0).map_or(0, |whole| whole.end())..])
}

/// The tensor-parallel rank among labels.
pub(super) fn tp_rank(labels: &str) -> Option<u32> {
    labels.split(' ').find_map(|label| label.strip_prefix("TP")).and_then(|number| number.parse().ok())
}

/// The number that follows a name.
pub(crate) fn after(text: &str, name: &str) -> Option<Figure> {
    rounded(&text[text.find(name)? + name.len()..])
}

/// The amount in GB that follows a name; one without its unit is none.
pub(super) fn gigabytes(text: &str, name: &str) -> Option<Figure> {
    amounts(text, name).next()
}

/// The sum of all amounts in GB that follow a name.
pub(super) fn sum_after(text: &str, name: &str) -> Option<Figure> {
    amounts(text, name).reduce(add)
}

fn amounts<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Figure> + 'a {
    text.match_indices(name).filter_map(|(at, _)| {
        let rest = &text[at + name.len()..];
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-')).trim_start();
        unit.starts_with("GB").then(|| rounded(rest)).flatten()
    })
}

/// The sum of two figures, bound by bound.
pub(crate) fn add(a: Figure, b: Figure) -> Figure {
    Figure { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high }
}

/// A figure in another unit.
pub(crate) fn scaled(figure: Figure, scale: f64) -> Figure {
    Figure { value: figure.value * scale, low: figure.low * scale, high: figure.high * scale }
}

#[cfg(test)]
mod tests {
    use super::{after, split, sum_after, tp_rank};

    #[test]
    fn labels_are_a_set_in_any_order() {
        assert_eq!(split("[2026-11-29 13:31:46 TP1] Load"), ("TP1", "Load"));
        assert_eq!(split("[2026-11-29 13:31:46.123 DP0 PP1 ATTN_CP0 TP12 EP0] Load"), ("DP0 PP1 ATTN_CP0 TP12 EP0", "Load"));
        assert_eq!(split("[2026-11-29 13:31:46] INFO:     Started"), ("", "INFO:     Started"));
        assert_eq!(
            split("100%|###| 52/52 [00:19<00:00][2025-03-01 10:00:00 TP4] Capture cuda graph end"),
            ("TP4", "Capture cuda graph end")
        );
        assert_eq!(split("[TP4] Capture"), ("TP4", "Capture"));
        assert_eq!(split("[DP0 TP0] Capture"), ("DP0 TP0", "Capture"));
        assert_eq!(split("[Gloo] Rank 0"), ("", "[Gloo] Rank 0"));
        assert_eq!((tp_rank("DP0 PP1 TP12 EP0"), tp_rank("")), (Some(12), None));
    }

    #[test]
    fn numbers_are_found_by_their_names() {
        let line = "Mamba Cache is allocated. max_mamba_cache_size: 12, conv_state size: 0.50GB, ssm_state size: 12.25GB ";
        let sum = sum_after(line, "size: ").expect("two amounts");
        assert!((sum.value - 12.75).abs() < 1e-9 && (sum.low - 12.74).abs() < 1e-9 && (sum.high - 12.76).abs() < 1e-9, "{sum:?}");
        assert_eq!(after(line, "max_mamba_cache_size: ").map(|figure| figure.value), Some(12.0));
        assert_eq!(sum_after("#tokens: 5, K size: 25.74 GB, V size: 25.74 GB", "size: ").map(|figure| figure.value), Some(51.48));
        assert_eq!(after("avail mem= GB", "avail mem="), None);
    }
}
