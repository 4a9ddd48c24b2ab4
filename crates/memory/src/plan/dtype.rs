//! Kinds of numbers that tensors and caches are made of, and how many bits each takes.

/// The kind of the elements of a tensor in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dtype {
    /// 64 bits, floating or whole.
    Wide,
    /// 32 bits, floating.
    F32,
    /// 32 bits, whole; packed quantised weights.
    I32,
    /// 16 bits, floating: bfloat16 or float16.
    Half,
    /// 16 bits, whole.
    I16,
    /// 8 bits, floating.
    F8,
    /// 8 bits, whole; packed or quantised weights.
    I8,
    /// 4 bits, floating.
    F4,
}

impl Dtype {
    /// Reads the name that a safetensors header has for it.
    #[must_use]
    pub fn of_header(name: &str) -> Option<Self> {
        Some(match name {
            "F64" | "I64" | "U64" | "C64" => Self::Wide,
            "F32" => Self::F32,
            "I32" | "U32" => Self::I32,
            "F16" | "BF16" => Self::Half,
            "I16" | "U16" => Self::I16,
            "F8_E4M3" | "F8_E5M2" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => Self::F8,
            "I8" | "U8" | "BOOL" => Self::I8,
            "F4" => Self::F4,
            _ => return None,
        })
    }

    /// Reads the name that `torch` and the engines' options have for a kind of floating number.
    #[must_use]
    pub fn of_torch(name: &str) -> Option<Self> {
        Some(match name.trim_start_matches("torch.") {
            "float32" | "float" | "fp32" => Self::F32,
            "bfloat16" | "bf16" | "float16" | "half" | "fp16" => Self::Half,
            "float8_e4m3fn" | "float8_e5m2" | "fp8" | "fp8_e4m3" | "fp8_e5m2" => Self::F8,
            _ => return None,
        })
    }

    /// Bits of one element.
    #[must_use]
    pub const fn bits(self) -> u64 {
        match self {
            Self::Wide => 64,
            Self::F32 | Self::I32 => 32,
            Self::Half | Self::I16 => 16,
            Self::F8 | Self::I8 => 8,
            Self::F4 => 4,
        }
    }

    /// Whether it is a floating number that a layer computes with as it is, so that engines may cast it.
    #[must_use]
    pub const fn is_plain_float(self) -> bool {
        matches!(self, Self::F32 | Self::Half)
    }
}
