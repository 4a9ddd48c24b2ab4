//! Cards by name or size: what `nvidia-smi` calls their memory, and what a program can have of it.

use bystander_model::budget::Figure;
use thiserror::Error;

const MIB: f64 = 1_048_576.0;
/// MiB in a GiB.
const MIB_PER_GIB: f64 = 1024.0;

/// A card that is not known; the text fits after "failed to".
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GpuError {
    /// Neither a known name nor a size.
    #[error("tell the memory of GPU {text:?}: give a size such as 80GiB, 24GB or 81559MiB, or one of {known}")]
    Unknown {
        /// What was typed.
        text: String,
        /// Names that are known.
        known: String,
    },
    /// No card has so little, or so much.
    #[error("use a GPU of {text}: from 1 GiB to 4 TiB are")]
    Size {
        /// What was typed.
        text: String,
    },
    /// A chip without memory of its own.
    #[error("tell the memory of {name}: it is the machine's own, shared with everything else; give what is free of it, such as 110GiB")]
    Shared {
        /// What was typed.
        name: String,
    },
    /// A name that several cards of different sizes have.
    #[error("tell which {name} is meant: {sizes}")]
    Several {
        /// What was typed.
        name: String,
        /// The cards that have it.
        sizes: &'static str,
    },
}

/// A card.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// As it was typed, or its full name.
    pub name: String,
    /// What `nvidia-smi` gives as `memory.total`, in MiB.
    pub smi_mib: f64,
    /// What CUDA gives as the device's memory, in GiB; the driver keeps the difference.
    pub cuda_gib: Figure,
    /// Major and minor compute capability, where the name tells it.
    pub capability: Option<(u8, u8)>,
    /// Whether cards of this kind are joined by NVLink; `None` where a size alone was given.
    pub has_nvlink: Option<bool>,
    /// Where the sizes come from, as a sentence.
    pub source: String,
}

struct Known {
    names: &'static [&'static str],
    full: &'static str,
    smi_mib: f64,
    capability: (u8, u8),
}

const fn card(names: &'static [&'static str], full: &'static str, smi_mib: f64, capability: (u8, u8)) -> Known {
    Known { names, full, smi_mib, capability }
}

/// Chips that use the memory of the machine.
const SHARED: [&str; 5] = ["gb10", "dgxspark", "jetson", "thor", "orin"];

/// `nvidia-smi --query-gpu=memory.total` of each; boards of one name differ by some MiB with board and firmware.
const KNOWN: &[Known] = &[
    card(&["t4", "teslat4"], "Tesla T4", 15_360.0, (7, 5)),
    card(&["v10016gb", "v10016g"], "V100 16GB", 16_384.0, (7, 0)),
    card(&["v10032gb", "v10032g"], "V100 32GB", 32_768.0, (7, 0)),
    card(&["a10", "a10g"], "A10", 23_028.0, (8, 6)),
    card(&["a30"], "A30", 24_576.0, (8, 0)),
    card(&["a40"], "A40", 46_068.0, (8, 6)),
    card(&["a10040gb", "a10040g"], "A100 40GB", 40_960.0, (8, 0)),
    card(&["a10080gb", "a10080g"], "A100 80GB", 81_920.0, (8, 0)),
    card(&["a80080gb", "a80080g", "a800"], "A800 80GB", 81_920.0, (8, 0)),
    card(&["rtxa6000", "a6000"], "RTX A6000", 49_140.0, (8, 6)),
    card(&["rtxa5000", "a5000"], "RTX A5000", 24_564.0, (8, 6)),
    card(&["rtxa4000", "a4000"], "RTX A4000", 16_376.0, (8, 6)),
    card(&["rtx2080ti", "2080ti"], "GeForce RTX 2080 Ti", 11_264.0, (7, 5)),
    card(&["rtx3090", "3090"], "GeForce RTX 3090", 24_576.0, (8, 6)),
    card(&["rtx3090ti", "3090ti"], "GeForce RTX 3090 Ti", 24_564.0, (8, 6)),
    card(&["rtx4090", "4090", "rtx4090d", "4090d"], "GeForce RTX 4090", 24_564.0, (8, 9)),
    card(&["rtx4080", "4080", "rtx4080super", "4080super"], "GeForce RTX 4080", 16_376.0, (8, 9)),
    card(&["rtx5000ada", "rtx5000adageneration", "5000ada"], "RTX 5000 Ada", 32_760.0, (8, 9)),
    card(&["rtx4000ada", "rtx4000adageneration", "4000ada"], "RTX 4000 Ada", 20_475.0, (8, 9)),
    card(&["rtx6000ada", "rtx6000adageneration", "6000ada"], "RTX 6000 Ada", 49_140.0, (8, 9)),
    card(&["l4"], "L4", 23_034.0, (8, 9)),
    card(&["l40", "l40s", "l20"], "L40S", 46_068.0, (8, 9)),
    card(&["rtx5090", "5090"], "GeForce RTX 5090", 32_607.0, (12, 0)),
    card(&["rtx5080", "5080", "rtx5070ti", "5070ti"], "GeForce RTX 5080", 16_303.0, (12, 0)),
    card(&["rtxpro6000", "rtxpro6000blackwell", "pro6000", "rtx6000pro"], "RTX PRO 6000 Blackwell", 97_871.0, (12, 0)),
    card(&["h100", "h10080gb", "h10080g", "h80080gb", "h800"], "H100 80GB", 81_559.0, (9, 0)),
    card(&["h100nvl", "h10094gb"], "H100 NVL", 95_830.0, (9, 0)),
    card(&["h20", "h2096gb", "h2096g"], "H20", 97_871.0, (9, 0)),
    card(&["h200", "h200141gb", "h200nvl", "h203e", "h20141gb"], "H200", 143_771.0, (9, 0)),
    card(&["gh200", "gh200480gb", "gh20096gb"], "GH200 96GB", 97_871.0, (9, 0)),
    card(&["b200", "b200180gb", "b200192gb"], "B200", 183_359.0, (10, 0)),
    card(&["gb200"], "GB200", 189_471.0, (10, 0)),
    card(&["b300", "gb300"], "B300", 275_040.0, (10, 3)),
];

impl Gpu {
    /// Reads a card: a known name such as `h100` or `RTX PRO 6000`, or a size such as `96GiB`, `24GB` or `81559MiB`.
    ///
    /// # Errors
    ///
    /// It is neither, or a name that several cards have.
    pub fn parse(text: &str) -> Result<Self, GpuError> {
        if let Some(bytes) = size(text) {
            return Self::of_size(text, bytes);
        }
        let wanted = plain(text);
        if matches!(wanted.as_str(), "a100" | "v100") {
            let sizes = if wanted == "a100" { "\"A100 40GB\" or \"A100 80GB\"" } else { "\"V100 16GB\" or \"V100 32GB\"" };
            return Err(GpuError::Several { name: text.to_owned(), sizes });
        }
        if SHARED.iter().any(|name| wanted.contains(name)) {
            return Err(GpuError::Shared { name: text.to_owned() });
        }
        let known = KNOWN.iter().find(|known| known.names.contains(&wanted.as_str()));
        let known = known.ok_or_else(|| GpuError::Unknown { text: text.to_owned(), known: names() })?;
        let gib = known.smi_mib / MIB_PER_GIB;
        Ok(Self {
            name: known.full.to_owned(),
            smi_mib: known.smi_mib,
            // Real cards of these kinds give CUDA 0.25 to 0.9 GiB less than nvidia-smi shows.
            cuda_gib: Figure { value: gib - 0.55, low: gib - 0.9, high: gib - 0.25 },
            capability: Some(known.capability),
            has_nvlink: Some(has_nvlink(text, known.capability)),
            source: format!(
                "{}: nvidia-smi shows {:.0} MiB, of which the driver keeps 0.25 to 0.9 GiB (nominal; boards differ by some MiB)",
                known.full, known.smi_mib
            ),
        })
    }

    fn of_size(text: &str, bytes: f64) -> Result<Self, GpuError> {
        let mib = (bytes / MIB).floor();
        if !(1024.0..=4.0 * MIB).contains(&mib) {
            return Err(GpuError::Size { text: text.to_owned() });
        }
        let gib = mib / MIB_PER_GIB;
        let decimal = if text.to_lowercase().contains("ib") || !text.to_lowercase().contains('b') {
            String::new()
        } else {
            format!(" = {gib:.2} GiB")
        };
        Ok(Self {
            name: text.trim().to_owned(),
            smi_mib: mib,
            cuda_gib: Figure::exact(gib),
            capability: None,
            has_nvlink: None,
            source: format!("{}{decimal}: taken as what CUDA gives; a card sold under a round number gives less", text.trim()),
        })
    }

    /// Whether a rule of an engine looks for an A100 by name.
    #[must_use]
    pub fn is_a100(&self) -> bool {
        self.name.to_lowercase().contains("a100")
    }
}

/// Whether cards of a name are joined by NVLink: those of data centers are, unless the name says that they sit on PCIe.
fn has_nvlink(text: &str, capability: (u8, u8)) -> bool {
    matches!(capability, (7 | 8, 0) | (9, 0) | (10, _)) && !text.to_lowercase().contains("pcie")
}

/// Letters and digits alone, without the maker's name, the edition and the form of the board.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty() && !is_form(word));
    let name: String = words.collect();
    let mut name = name.as_str();
    for suffix in ["workstationedition", "serveredition", "blackwellworkstationedition", "blackwellserveredition"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    name.to_owned()
}

/// Words of a name that do not tell how much memory a card has.
fn is_form(word: &str) -> bool {
    matches!(
        word,
        "nvidia"
            | "geforce"
            | "tesla"
            | "quadro"
            | "graphics"
            | "gpu"
            | "pcie"
            | "hbm2"
            | "hbm2e"
            | "hbm3"
            | "hbm3e"
            | "maxq"
            | "max"
            | "q"
    ) || word.strip_prefix("sxm").is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// Bytes of a size such as `96GiB` or `24GB`; a number without a unit is none.
#[must_use]
pub fn size(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number: f64 = text[..end].parse().ok()?;
    let unit = match text[end..].trim().to_lowercase().as_str() {
        "b" => 1.0,
        "mib" | "m" => MIB,
        "gib" | "g" => MIB * 1024.0,
        "tib" => MIB * MIB,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return None,
    };
    Some(number * unit).filter(|bytes| bytes.is_finite())
}

fn names() -> String {
    KNOWN.iter().map(|known| known.full).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Gpu, GpuError, size};

    #[test]
    fn names_and_sizes_are_read() {
        assert_eq!(Gpu::parse("h100").map(|gpu| gpu.smi_mib), Ok(81_559.0));
        assert_eq!(Gpu::parse("NVIDIA H100 80GB HBM3").map(|gpu| gpu.smi_mib), Ok(81_559.0));
        assert_eq!(Gpu::parse("RTX PRO 6000").map(|gpu| gpu.smi_mib), Ok(97_871.0));
        assert_eq!(Gpu::parse("96GiB").map(|gpu| gpu.cuda_gib.value), Ok(96.0));
        let decimal = Gpu::parse("80GB").expect("a size");
        assert!((decimal.cuda_gib.value - 74.505).abs() < 0.01, "{decimal:?}");
        assert!(Gpu::parse("NVIDIA A100 80GB").expect("a card").is_a100());
    }

    #[test]
    fn names_are_read_as_drivers_write_them() {
        for (name, mib) in [
            ("A100-SXM4-80GB", 81_920.0),
            ("NVIDIA A100-SXM4-40GB", 40_960.0),
            ("NVIDIA A100 80GB PCIe", 81_920.0),
            ("NVIDIA A100-PCIE-40GB", 40_960.0),
            ("Tesla V100-SXM2-32GB", 32_768.0),
            ("H100-SXM5-80GB", 81_559.0),
            ("NVIDIA H100 PCIe", 81_559.0),
            ("NVIDIA H100 NVL", 95_830.0),
            ("NVIDIA H20-3e", 143_771.0),
            ("NVIDIA GH200 480GB", 97_871.0),
            ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97_871.0),
            ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97_871.0),
            ("NVIDIA RTX 6000 Ada Generation", 49_140.0),
            ("NVIDIA GeForce RTX 4090 D", 24_564.0),
            ("Tesla T4", 15_360.0),
        ] {
            assert_eq!(Gpu::parse(name).map(|gpu| gpu.smi_mib), Ok(mib), "{name}");
        }
    }

    #[test]
    fn what_joins_cards_is_told_by_the_name_and_not_by_a_size() {
        let nvlink = |name: &str| Gpu::parse(name).expect("a card").has_nvlink;
        assert_eq!((nvlink("h100"), nvlink("H100 PCIe"), nvlink("l40s"), nvlink("80GiB")), (Some(true), Some(false), Some(false), None));
    }

    #[test]
    fn what_names_no_card_is_refused() {
        assert!(matches!(Gpu::parse("a100"), Err(GpuError::Several { .. })));
        assert!(matches!(Gpu::parse("DGX Spark"), Err(GpuError::Shared { .. })));
        assert!(matches!(Gpu::parse("RTX PRO 4500"), Err(GpuError::Unknown { .. })));
        assert!(matches!(Gpu::parse("80"), Err(GpuError::Unknown { .. })));
        assert!(matches!(Gpu::parse("banana"), Err(GpuError::Unknown { .. })));
        assert!(matches!(Gpu::parse("1MiB"), Err(GpuError::Size { .. })));
        assert!(matches!(Gpu::parse("99999999999999999999TiB"), Err(GpuError::Size { .. })));
        assert_eq!(size("1e9GiB"), None);
        assert_eq!(size(""), None);
    }
}
