//! Sizes of memory as people write them: `1GiB`, `512MiB`, `1.5GB`, `0`.

use super::item::Item;
use super::problems::Problems;
use super::quantity::Measure;

/// Sizes of memory in bytes, up to more than any machine has, which is exact as a floating-point number.
const MEMORY: Measure = Measure {
    name: "size of memory",
    units: &[
        ("B", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
    ],
    compound: false,
    most: (4_503_599_627_370_496.0, "4 PiB"),
    example: "\"1GiB\"",
    forms: "\"1GiB\", \"512MiB\" or \"1.5GB\"",
    likely: "GiB",
};

/// Reads a size of memory from the file, in bytes.
pub(super) fn read(item: &Item<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    MEMORY.read(item, problems).map(whole)
}

/// The whole number nearest to a size.
fn whole(bytes: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and the largest size, and is whole")]
    {
        bytes.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantity::QuantityError;
    use super::{MEMORY, whole};

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1GiB", 1 << 30),
            (" 512 MiB ", 512 << 20),
            ("1.5GiB", 3 << 29),
            ("4GB", 4_000_000_000),
            ("0", 0),
            ("0.0", 0),
            ("0GiB", 0),
            ("7B", 7),
            ("1.23456789GiB", 1_325_607_178),
        ] {
            assert_eq!(MEMORY.parse(text).map(whole), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_says_why() {
        for (text, error) in [
            ("", QuantityError::Empty("size of memory")),
            ("GiB", QuantityError::NoNumber("GiB".into())),
            ("-1GiB", QuantityError::NoNumber("-1GiB".into())),
            ("1.2.3GiB", QuantityError::NoNumber("1.2.3GiB".into())),
            ("4", QuantityError::NoUnit("4".into())),
            ("4gib", QuantityError::UnknownUnit("gib".into())),
            ("4 potatoes", QuantityError::UnknownUnit("potatoes".into())),
            ("1GiB 512MiB", QuantityError::Second("512MiB".into())),
            ("99999999TiB", QuantityError::TooLarge("size of memory", "4 PiB")),
        ] {
            assert_eq!(MEMORY.parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_unit_in_other_letters_is_known_for_what_was_meant() {
        for (written, meant) in [("gib", Some("GiB")), ("g", Some("GiB")), ("GiBs", Some("GiB")), ("bytes", Some("B")), ("potatoes", None)]
        {
            assert_eq!(MEMORY.meant(written), meant, "{written}");
        }
    }
}
