//! The tensors of a checkpoint, told from the headers of its safetensors files: names, kinds, shapes. Weights themselves are never read.

mod header;

use thiserror::Error;

use super::dtype::Dtype;

/// The largest header that the format allows.
pub const MOST_HEADER: u64 = 100_000_000;
/// Bytes in front of the header: its length.
pub const LENGTH_BYTES: u64 = 8;

/// A header that cannot be used; the text fits after "failed to".
#[derive(Debug, Error)]
pub enum HeaderError {
    /// It claims to be larger than any header may be.
    #[error("read the header: it claims {claimed} bytes, and a header has 100,000,000 at most")]
    Large {
        /// What it claims.
        claimed: u64,
    },
    /// The file is a pointer of Git LFS, not the weights.
    #[error("read the header: the file is a pointer of Git LFS, its weights were never fetched")]
    Pointer,
    /// The file ends before its header does, or before its data does.
    #[error("read it: it ends after {found} bytes, and its header says {needed}")]
    Short {
        /// Bytes that it has.
        found: u64,
        /// Bytes that it needs.
        needed: u64,
    },
    /// It is not what a header is.
    #[error("read the header")]
    NotAHeader {
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
    /// A kind of number that is not known here.
    #[error("count {tensor:?}: its kind {dtype:?} is not known")]
    Kind {
        /// The tensor.
        tensor: String,
        /// The kind.
        dtype: String,
    },
    /// Shape and place of a tensor do not agree.
    #[error("count {tensor:?}: its shape takes {shape} bytes, its place in the file {place}")]
    Size {
        /// The tensor.
        tensor: String,
        /// Bytes by its shape.
        shape: u64,
        /// Bytes by its place.
        place: u64,
    },
}

/// One tensor, or the tensors of all experts of a layer that are alike: a checkpoint of a terabyte has more than a hundred thousand of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its name in the checkpoint; of several, that of the first.
    pub name: String,
    /// What it is made of.
    pub dtype: Dtype,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// How many there are.
    pub count: u64,
}

impl Tensor {
    /// How many elements one has.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |all: u64, dimension| all.saturating_mul(*dimension))
    }

    /// Bytes of all of them in the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        size(&self.shape, self.dtype).saturating_mul(self.count)
    }
}

/// Bytes of a tensor.
fn size(shape: &[u64], dtype: Dtype) -> u64 {
    let elements = shape.iter().fold(1, |all: u64, dimension| all.saturating_mul(*dimension));
    elements.saturating_mul(dtype.bits()).div_ceil(8)
}

/// All tensors of a model.
#[derive(Debug, Clone, Default)]
pub struct Checkpoint {
    /// The tensors, in the order in which they were found.
    pub tensors: Vec<Tensor>,
    /// Whether they were told from headers; else they were worked out from the configuration.
    pub is_read: bool,
}

impl Checkpoint {
    /// Bytes of all tensors.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |all: u64, tensor| all.saturating_add(tensor.bytes()))
    }

    /// How many tensors there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.tensors.iter().fold(0, |all: u64, tensor| all.saturating_add(tensor.count))
    }
}

/// Reads the length of the header from the first bytes of a file with so many bytes.
///
/// # Errors
///
/// It is larger than a header may be or than the file, or the file is a pointer.
pub fn header_length(first: [u8; 8], file: u64) -> Result<u64, HeaderError> {
    if &first == b"version " {
        return Err(HeaderError::Pointer);
    }
    let claimed = u64::from_le_bytes(first);
    if claimed > MOST_HEADER {
        return Err(HeaderError::Large { claimed });
    }
    if LENGTH_BYTES + claimed > file {
        return Err(HeaderError::Short { found: file, needed: LENGTH_BYTES + claimed });
    }
    Ok(claimed)
}

/// Reads the tensors of a header of a file with so many bytes.
///
/// # Errors
///
/// It is no header, contradicts itself, or says more than the file has.
pub fn tensors(header: &[u8], file: u64) -> Result<Vec<Tensor>, HeaderError> {
    let found = header::read(header)?;
    let needed = (LENGTH_BYTES + header.len() as u64).saturating_add(found.end);
    if needed > file {
        return Err(HeaderError::Short { found: file, needed });
    }
    Ok(found.tensors)
}

#[cfg(test)]
mod tests {
    use super::{HeaderError, header_length, tensors};

    #[test]
    fn a_header_gives_its_tensors() {
        let header = br#"{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"F8_E4M3","shape":[5],"data_offsets":[12,17]}}"#;
        let found = tensors(header, 8 + header.len() as u64 + 17).expect("tensors");
        assert_eq!(found.iter().map(|tensor| tensor.bytes()).collect::<Vec<_>>(), [12, 5]);
    }

    #[test]
    fn experts_that_are_alike_are_counted() {
        let entry =
            |name: &str, from: u64| format!("\"{name}\":{{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[{},{}]}}", from, from + 4);
        let names = [
            "l.0.experts.0.up.weight",
            "l.0.experts.1.up.weight",
            "l.0.experts.1.down.weight",
            "l.1.experts.0.up.weight",
            "l.0.experts.10.up.weight",
            "experts.7",
            "experts.8",
        ];
        let entries: Vec<String> = names.iter().zip(0..).map(|(name, at)| entry(name, at * 4)).collect();
        let header = format!("{{{}}}", entries.join(","));
        let found = tensors(header.as_bytes(), 8 + header.len() as u64 + 28).expect("tensors");
        assert_eq!(found.iter().map(|tensor| tensor.count).collect::<Vec<_>>(), [3, 1, 1, 2]);
        assert_eq!(found.iter().map(super::Tensor::bytes).sum::<u64>(), 28);
    }

    #[test]
    fn claims_that_cannot_be_are_refused() {
        assert!(matches!(header_length(10_000_000_000_u64.to_le_bytes(), u64::MAX), Err(HeaderError::Large { claimed: 10_000_000_000 })));
        assert!(matches!(header_length(u64::MAX.to_le_bytes(), 100), Err(HeaderError::Large { .. })));
        assert!(matches!(header_length(1000_u64.to_le_bytes(), 100), Err(HeaderError::Short { needed: 1008, .. })));
        assert!(matches!(header_length(*b"version ", 130), Err(HeaderError::Pointer)));
        let cut = br#"{"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}}"#;
        assert!(matches!(tensors(cut, 8 + cut.len() as u64), Err(HeaderError::Short { .. })));
        let liar = br#"{"a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,13]}}"#;
        assert!(matches!(tensors(liar, 1000), Err(HeaderError::Size { shape: 12, place: 13, .. })));
        let huge = br#"{"a":{"dtype":"F32","shape":[18446744073709551615,4294967296],"data_offsets":[0,18446744073709551615]}}"#;
        assert!(tensors(huge, 1000).is_err());
        assert!(matches!(tensors(b"[1]", 100), Err(HeaderError::NotAHeader { .. })));
        let unknown = br#"{"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}}"#;
        assert!(matches!(tensors(unknown, 1000), Err(HeaderError::Kind { .. })));
    }
}
