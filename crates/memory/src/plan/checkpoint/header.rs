//! The header of a safetensors file, read entry by entry: what is alike is counted as it comes, nothing is kept of it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{HeaderError, Tensor, size};
use crate::plan::dtype::Dtype;

/// Dimensions that a tensor may have; more is no tensor of a model.
const MOST_DIMENSIONS: usize = 8;
/// What stands in front of the number of an expert.
const EXPERTS: &str = "experts.";
/// Names are most of a header, and this is looked for in each of them.
static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(EXPERTS));

/// What a header says.
#[derive(Default)]
pub(super) struct Found {
    pub(super) tensors: Vec<Tensor>,
    /// Where the last tensor ends.
    pub(super) end: u64,
    /// Where tensors that are alike stand in the list.
    alike: HashMap<u64, usize>,
    problem: Option<HeaderError>,
}

/// Reads a header.
pub(super) fn read(header: &[u8]) -> Result<Found, HeaderError> {
    let mut found = Found::default();
    let mut deserializer = serde_json::Deserializer::from_slice(header);
    let read = Entries(&mut found).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    read.map_err(|source| HeaderError::NotAHeader { source })?;
    match found.problem.take() {
        Some(problem) => Err(problem),
        None => Ok(found),
    }
}

impl Found {
    fn add(&mut self, name: &str, entry: &Entry<'_>) {
        let Some(dtype) = Dtype::of_header(&entry.dtype) else {
            self.problem.get_or_insert_with(|| HeaderError::Kind { tensor: name.to_owned(), dtype: entry.dtype.clone().into_owned() });
            return;
        };
        let shape = entry.shape.dimensions();
        let (begin, after) = entry.data_offsets;
        let place = after.saturating_sub(begin);
        let bytes = size(shape, dtype);
        if bytes != place {
            self.problem.get_or_insert_with(|| HeaderError::Size { tensor: name.to_owned(), shape: bytes, place });
            return;
        }
        self.end = self.end.max(after);
        let Some((before, behind)) = around_expert(name) else {
            self.tensors.push(Tensor { name: name.to_owned(), dtype, shape: shape.to_vec(), count: 1 });
            return;
        };
        let key = key(before, behind);
        if let Some(known) = self.alike.get(&key).and_then(|at| self.tensors.get_mut(*at)) {
            let is_alike = known.dtype == dtype && known.shape == shape && around_expert(&known.name) == Some((before, behind));
            if is_alike {
                known.count += 1;
                return;
            }
        }
        self.alike.insert(key, self.tensors.len());
        self.tensors.push(Tensor { name: name.to_owned(), dtype, shape: shape.to_vec(), count: 1 });
    }
}

/// What stands before and behind the number of an expert.
fn around_expert(name: &str) -> Option<(&str, &str)> {
    let from = FINDER.find(name.as_bytes())? + EXPERTS.len();
    let (before, rest) = name.split_at(from);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| (before, &rest[digits..]))
}

fn key(before: &str, behind: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(before.as_bytes());
    hasher.write(behind.as_bytes());
    hasher.finish()
}

struct Entries<'a>(&'a mut Found);

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    dtype: Cow<'a, str>,
    shape: Shape,
    data_offsets: (u64, u64),
}

/// A name that is borrowed where nothing in it is escaped.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Dimensions, without a list on the heap for each of a hundred thousand tensors.
struct Shape {
    dimensions: [u64; MOST_DIMENSIONS],
    count: usize,
}

impl Shape {
    fn dimensions(&self) -> &[u64] {
        &self.dimensions[..self.count]
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Dimensions;
        impl<'de> Visitor<'de> for Dimensions {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of dimensions")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
                let mut shape = Shape { dimensions: [0; MOST_DIMENSIONS], count: 0 };
                while let Some(dimension) = list.next_element()? {
                    let place =
                        shape.dimensions.get_mut(shape.count).ok_or_else(|| A::Error::custom("a tensor has more than 8 dimensions"))?;
                    *place = dimension;
                    shape.count += 1;
                }
                Ok(shape)
            }
        }
        deserializer.deserialize_seq(Dimensions)
    }
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                let entry: Entry<'de> = map.next_value()?;
                self.0.add(&name, &entry);
            }
        }
        Ok(())
    }
}
