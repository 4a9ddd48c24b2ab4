//! The unit behind a number, as far as it changes what the number means.

/// Units by the names that programs print, each with the one that stands for all of its names.
const UNITS: [(&str, &[&str]); 33] = [
    ("ns", &["ns", "nsec"]),
    ("us", &["us", "\u{b5}s", "\u{3bc}s", "usec"]),
    ("ms", &["ms", "msec", "millis", "milliseconds"]),
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("min", &["m", "min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ("B", &["B", "bytes", "byte"]),
    ("KB", &["KB", "kB"]),
    ("MB", &["MB"]),
    ("GB", &["GB"]),
    ("TB", &["TB"]),
    ("PB", &["PB"]),
    ("KiB", &["KiB", "kiB"]),
    ("MiB", &["MiB"]),
    ("GiB", &["GiB"]),
    ("TiB", &["TiB"]),
    ("PiB", &["PiB"]),
    ("Ki", &["Ki"]),
    ("Mi", &["Mi"]),
    ("Gi", &["Gi"]),
    ("Ti", &["Ti"]),
    ("Kbit", &["Kb", "kb", "Kbit", "kbit", "Kbps", "kbps"]),
    ("Mbit", &["Mb", "Mbit", "Mbps"]),
    ("Gbit", &["Gb", "Gbit", "Gbps"]),
    ("k", &["k", "K"]),
    ("M", &["M"]),
    ("G", &["G"]),
    ("T", &["T"]),
    ("P", &["P"]),
    ("d", &["d", "day", "days"]),
    ("thousand", &["thousand"]),
    ("million", &["million", "mio"]),
    ("billion", &["billion", "bn"]),
];

/// The unit that a text begins with, behind a blank at most; empty where there is none that is known.
pub(super) fn of(after: &str) -> &'static str {
    let rest = after.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(after);
    if rest.starts_with('%') {
        return "%";
    }
    let end = word(rest);
    // What names the next value is no unit of this one.
    let is_apart = rest[end..].chars().next().is_none_or(|next| !(next.is_alphanumeric() || matches!(next, '=' | '_' | '(' | ':')));
    if is_apart { known(&rest[..end]).unwrap_or_default() } else { "" }
}

/// Whether a text goes on with the next part of a span of time, as `m30s` and `h 5m` do behind a number.
pub(super) fn is_followed_by_less(after: &str) -> bool {
    let end = word(after);
    let is_time = matches!(known(&after[..end]), Some("min" | "h" | "d" | "s" | "ms" | "us"));
    let rest = after[end..].trim_start_matches(' ');
    let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let next = &rest[digits..];
    let unit = &next[..word(next)];
    is_time && digits > 0 && matches!(known(unit), Some("min" | "h" | "s" | "ms" | "us" | "ns"))
}

fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphabetic() && c != '\u{b5}').unwrap_or(text.len())
}

fn known(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(_, names)| names.contains(&word)).map(|(unit, _)| *unit)
}

#[cfg(test)]
mod tests {
    use super::{is_followed_by_less, of};

    #[test]
    fn a_unit_behind_a_number_is_known_by_any_of_its_names() {
        for (after, unit) in [
            (" MiB", "MiB"),
            ("GiB, free", "GiB"),
            ("ms", "ms"),
            ("\u{b5}s", "us"),
            (" seconds.", "s"),
            ("s/it", "s"),
            ("K tok/s", "k"),
            (" GB/s", "GB"),
            ("%", "%"),
            (" tok/s", ""),
            ("it/s", ""),
            ("  MiB", ""),
            (" s=3", ""),
            (" steps", ""),
            ("", ""),
            (", MiB", ""),
        ] {
            assert_eq!(of(after), unit, "{after:?}");
        }
    }

    #[test]
    fn a_span_of_time_in_several_parts_is_one() {
        for after in ["m30s", "h 5m", "h05m", "m2.5s", "s 200ms"] {
            assert!(is_followed_by_less(after), "{after}");
        }
        for after in ["m", "ms", "s 4 steps", " m30s", "k5s", ""] {
            assert!(!is_followed_by_less(after), "{after}");
        }
    }
}
