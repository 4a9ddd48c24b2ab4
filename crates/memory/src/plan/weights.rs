//! What the weights take on one rank: which part each rank keeps of each tensor, how an engine puts tensors together, how CUDA memory is handed out.

mod allocator;
mod part;

use bystander_model::budget::Figure;

use super::GIB;
use super::checkpoint::{Checkpoint, Tensor};
use super::dtype::Dtype;
use super::shape::{Shape, share_of_heads};
use allocator::Allocator;
use part::{Cut, Part, part};

/// Rows of a vocabulary are padded to a multiple of this.
const VOCABULARY_STEP: u64 = 64;

/// How tensors are shared out over ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sharing {
    /// Ranks among which attention is cut.
    pub(super) attention: u64,
    /// Ranks among which dense feed-forward parts are cut.
    pub(super) dense: u64,
    /// Ranks among which experts are shared out, whole or cut.
    pub(super) experts: u64,
    /// Whether experts are shared out whole.
    pub(super) whole_experts: bool,
    /// Ranks among which the input embedding is cut.
    pub(super) embedding: u64,
    /// Ranks among which the output embedding is cut.
    pub(super) head: u64,
    /// Whether stages that have no use for the output embedding keep it all the same.
    pub(super) head_on_every_stage: bool,
    /// Whether the output embedding is made 32 bits wide.
    pub(super) has_wide_head: bool,
    /// Whether draft layers of the checkpoint are loaded.
    pub(super) drafts: bool,
    /// Bits of the numbers of the table of positions.
    pub(super) rotary_bits: u64,
    /// Bits of the numbers that the model is computed in.
    pub(super) bits: u64,
    /// Whether linear layers are made 8 bits wide at load.
    pub to_fp8: bool,
    /// Whether the vision tower is left out.
    pub(super) language_only: bool,
}

/// The weights of the ranks of one stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weights {
    /// What they take, in GiB.
    pub(super) gib: Figure,
    /// Bytes of the tensors alone.
    pub(super) bytes: u64,
    /// Bytes of draft layers among them.
    pub(super) draft_bytes: u64,
}

/// Counts the weights of one stage: layers from one to before another, and the embeddings where the stage is the first or the last.
#[must_use]
pub(super) fn stage(shape: &Shape, checkpoint: &Checkpoint, sharing: &Sharing, layers: (u64, u64)) -> Weights {
    let depth = shape.layers.len() as u64;
    let (is_first, is_last) = (layers.0 == 0, layers.1 == depth);
    let mut allocator = Allocator::default();
    let mut counted = Counted::default();
    for tensor in &checkpoint.tensors {
        let place = part(&tensor.name, depth);
        let is_here = match place.part {
            Part::Layer(layer) => (layers.0..layers.1).contains(&layer),
            // A tied embedding is made again by the last stage, except where every stage would make a head of its own: those point to what is not there.
            Part::Embedding => is_first || (is_last && shape.tied && !sharing.head_on_every_stage),
            Part::Head => (is_last || sharing.head_on_every_stage) && !shape.tied,
            Part::Last => is_last,
            Part::Vision => is_first && !sharing.language_only,
            Part::Draft => is_last && sharing.drafts,
            Part::Skipped => false,
        };
        if is_here {
            counted.add(tensor, &place, shape, sharing, &mut allocator);
        }
    }
    let absorbed = absorbed(shape, sharing, layers.1 - layers.0);
    if absorbed > 0 {
        (0..layers.1 - layers.0).for_each(|_| allocator.take(absorbed));
    }
    rotary_tables(shape, sharing).for_each(|table| allocator.take(table));
    let held = allocator.held() as f64;
    let gib =
        Figure { value: held / GIB, low: counted.least as f64 / GIB, high: held * 1.01 / GIB + 0.0625 + counted.padding as f64 / GIB };
    Weights { gib, bytes: counted.bytes, draft_bytes: counted.drafts }
}

/// What is missing where the weights, and with them all tokens, are unknown.
pub(super) fn unknown(question: &super::Question) -> Option<String> {
    question.checkpoint.is_none().then(|| {
        format!(
            "weights, tokens and fractions: how a checkpoint of {} is made up is not known here, and no weights are at hand; name its folder with *.safetensors",
            question.shape.architecture
        )
    })
}

#[derive(Default)]
struct Counted {
    bytes: u64,
    least: u64,
    drafts: u64,
    padding: u64,
}

impl Counted {
    fn add(&mut self, tensor: &Tensor, place: &part::Place, shape: &Shape, sharing: &Sharing, allocator: &mut Allocator) {
        let whole = loaded_bytes(tensor, place, sharing);
        let (kept, least) = kept(whole, tensor, place, shape, sharing);
        if place.part == Part::Vision {
            // Some towers are whole on every rank.
            self.padding = self.padding.saturating_add(whole - kept);
        }
        self.bytes = self.bytes.saturating_add(kept);
        self.least = self.least.saturating_add(least);
        if place.part == Part::Draft {
            self.drafts = self.drafts.saturating_add(kept);
        }
        // Kernels for 4-bit experts pad both widths; up to a third more was seen.
        if place.cut == Cut::Experts && tensor.dtype == Dtype::I8 && tensor.name.ends_with("_blocks") {
            self.padding = self.padding.saturating_add(kept / 3);
        }
        allocator.put(place.fused, kept);
    }
}

/// Bytes of a tensor once it is loaded, over all ranks.
fn loaded_bytes(tensor: &Tensor, place: &part::Place, sharing: &Sharing) -> u64 {
    let is_weight = tensor.name.ends_with(".weight") || tensor.name.ends_with(".bias") || tensor.name.ends_with("_proj");
    let is_cast = tensor.dtype.is_plain_float() && is_weight && !place.keeps_kind;
    if place.part == Part::Head && sharing.has_wide_head {
        return tensor.elements().saturating_mul(4);
    }
    let elements = tensor.elements().saturating_mul(tensor.count);
    let bytes = if is_cast { elements.saturating_mul(sharing.bits) / 8 } else { tensor.bytes() };
    let is_linear = matches!(place.cut, Cut::Columns | Cut::Rows | Cut::KeyValue | Cut::Experts) && tensor.shape.len() > 1 && is_weight;
    if sharing.to_fp8 && is_linear && tensor.dtype.is_plain_float() { elements } else { bytes }
}

/// What one rank keeps, and the least that it could be.
fn kept(whole: u64, tensor: &Tensor, place: &part::Place, shape: &Shape, sharing: &Sharing) -> (u64, u64) {
    let ranks = if place.is_attention { sharing.attention } else { sharing.dense };
    let both = |bytes: u64| (bytes, bytes);
    // One number is kept by every rank.
    if tensor.elements() <= 1 {
        return both(whole);
    }
    match place.cut {
        Cut::Whole => both(whole),
        Cut::Unknown => (whole, whole / ranks.max(1)),
        Cut::Columns | Cut::Rows => both(whole.div_ceil(ranks.max(1))),
        Cut::KeyValue => match key_value_heads(shape) {
            Some(heads) => both((u128::from(whole) * u128::from(share_of_heads(heads, ranks)) / u128::from(heads)) as u64),
            None => both(whole.div_ceil(ranks.max(1))),
        },
        Cut::Experts => both(experts(whole, shape, sharing)),
        Cut::Vocabulary => {
            let ranks = if place.part == Part::Head { sharing.head } else { sharing.embedding };
            let rows = tensor.shape.first().copied().unwrap_or(1).max(1);
            let padded = rows.div_ceil(VOCABULARY_STEP) * VOCABULARY_STEP;
            both((whole / rows).saturating_mul(padded.div_ceil(ranks.max(1))))
        }
    }
}

fn experts(whole: u64, shape: &Shape, sharing: &Sharing) -> u64 {
    let ranks = sharing.experts.max(1);
    match shape.experts.filter(|_| sharing.whole_experts) {
        // A rank that has one expert more than the others is the fullest.
        Some(experts) => whole / experts.count * experts.count.div_ceil(ranks),
        None => whole.div_ceil(ranks),
    }
}

fn key_value_heads(shape: &Shape) -> Option<u64> {
    shape.attention().find_map(|attention| match attention.store {
        super::shape::Store::Heads { heads, .. } => Some(heads),
        super::shape::Store::Latent { .. } => None,
    })
}

/// Both engines keep the two halves of `kv_b_proj` once more, so that queries can be turned instead of keys.
fn absorbed(shape: &Shape, sharing: &Sharing, layers: u64) -> u64 {
    let (true, Some((rank, nope, value))) = (layers > 0, shape.latent_widths) else { return 0 };
    shape.heads / sharing.attention.max(1) * (nope + value) * rank * sharing.bits / 8
}

/// Tables of sines and cosines of positions, one for each kind of rotation.
fn rotary_tables<'a>(shape: &'a Shape, sharing: &'a Sharing) -> impl Iterator<Item = u64> + 'a {
    let kinds = usize::from(shape.rotary_width > 0 && sharing.rotary_bits > 0) * if shape.model_type.starts_with("gemma3") { 2 } else { 1 };
    let rows = shape.context.unwrap_or(0).min(1 << 24);
    std::iter::repeat_n(rows * shape.rotary_width * sharing.rotary_bits / 8, kinds).filter(|bytes| *bytes > 0)
}
