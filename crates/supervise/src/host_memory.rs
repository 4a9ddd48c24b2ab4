//! The memory of this machine that a program could still have, and how busy the machine is. Units: bytes.

use std::fs;

/// What the kernel says of memory, and of load.
const MEMORY: &str = "/proc/meminfo";
const LOAD: &str = "/proc/loadavg";

/// The memory that could be had without swapping (`MemAvailable`); `None` where the kernel does not tell.
#[must_use]
pub fn available() -> Option<u64> {
    parse(&fs::read_to_string(MEMORY).ok()?, "MemAvailable:")
}

/// All memory of the machine (`MemTotal`); `None` where the kernel does not tell.
#[must_use]
pub fn total() -> Option<u64> {
    parse(&fs::read_to_string(MEMORY).ok()?, "MemTotal:")
}

fn parse(text: &str, name: &str) -> Option<u64> {
    let mut words = text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace();
    let (number, unit) = (words.next()?.parse::<u64>().ok()?, words.next()?);
    // The kernel has never written another unit.
    (unit == "kB").then(|| number.saturating_mul(1024))
}

/// The load of the machine, averaged over the last minute; `None` where the kernel does not tell.
#[must_use]
pub fn load() -> Option<f64> {
    fs::read_to_string(LOAD).ok()?.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{available, load, parse, total};

    #[test]
    fn what_the_kernel_writes_is_read() {
        let text = "MemTotal:       24610652 kB\nMemFree:        1 kB\nMemAvailable:   23184220 kB\nBuffers: 0 kB\n";
        assert_eq!(parse(text, "MemAvailable:"), Some(23_184_220 * 1024));
        assert_eq!(parse(text, "MemTotal:"), Some(24_610_652 * 1024));
        for odd in ["", "MemFree: 1 kB", "MemAvailable: 3 pages", "MemAvailable:", "MemAvailable: x kB"] {
            assert_eq!(parse(odd, "MemAvailable:"), None, "{odd:?}");
        }
    }

    #[test]
    fn this_machine_tells_all_of_it() {
        assert!(available().is_some_and(|bytes| bytes > 1 << 20 && total().is_some_and(|total| bytes <= total)));
        assert!(load().is_some_and(|load| load >= 0.0));
    }
}
