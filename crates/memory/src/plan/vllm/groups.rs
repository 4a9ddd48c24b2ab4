//! How vLLM puts layers into groups that draw blocks from one pool, and what a request takes of it.
//!
//! Layers of one kind form groups of equal size; every block is as large as a group's layers together, whatever group draws it.

use super::layers::{Keeps, Layer};
use crate::figures::whole;
use crate::plan::fractions::Give;
use crate::plan::setup::Setup;
use crate::version::Release;

/// Layers that share a table of blocks.
#[derive(Debug, Clone)]
struct Group {
    /// Their numbers.
    layers: Vec<u64>,
    keeps: Keeps,
    /// Tokens of a block.
    block: u64,
}

/// Groups, and what a block takes.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    groups: Vec<Group>,
    /// Bytes of one layer in one block.
    page: u64,
    /// Layers of the largest group.
    width: u64,
    /// Layers of one group that have pages of different sizes: their bytes in a block, by layer.
    mixed: Option<Vec<(u64, u64)>>,
    smallest_block: u64,
    /// Layers of the model, those of a draft not among them.
    depth: u64,
    release: Release,
    pub(super) lines: Vec<String>,
}

/// What one stage of a pipeline has of every block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    bytes: u64,
    whole: u64,
}

impl Part {
    /// Its part of an amount.
    pub(super) fn of(self, amount: f64) -> f64 {
        amount * self.bytes as f64 / self.whole as f64
    }

    /// Its part of whole bytes.
    pub(super) fn of_whole(self, bytes: u64) -> u64 {
        u64::try_from(u128::from(bytes) * u128::from(self.bytes) / u128::from(self.whole)).unwrap_or(u64::MAX)
    }

    /// Says so, where there are several stages.
    pub(super) fn line(self, stages: u64) -> Option<String> {
        let (bytes, all) = (whole(self.bytes as f64), whole(self.whole as f64));
        (stages > 1).then(|| format!("the fullest of {stages} stages has {bytes} of the {all} bytes of a block, and as much of each token"))
    }
}

impl Plan {
    /// Puts layers into groups.
    pub(super) fn new(layers: &[Layer], depth: u64, setup: &Setup, release: Release) -> Result<Self, String> {
        let block = setup.page.unwrap_or(16);
        let mut kinds: Vec<(Keeps, Vec<u64>)> = Vec::new();
        for layer in layers {
            match kinds.iter_mut().find(|(keeps, _)| *keeps == layer.keeps) {
                Some((_, at)) => at.push(layer.at),
                None => kinds.push((layer.keeps, vec![layer.at])),
            }
        }
        if kinds.is_empty() {
            return Err("a model that keeps nothing per token or request has no KV cache to plan".to_owned());
        }
        if kinds.iter().all(|(keeps, _)| matches!(keeps, Keeps::All { .. })) {
            return Ok(Self::uniform(&kinds, depth, block, release));
        }
        Self::hybrid(kinds, depth, block, release)
    }

    /// Every layer keeps every token: one group, whatever a layer takes of it.
    fn uniform(kinds: &[(Keeps, Vec<u64>)], depth: u64, block: u64, release: Release) -> Self {
        let mut lines = Vec::new();
        let mut mixed = Vec::new();
        for (keeps, at) in kinds {
            let Keeps::All { token } = *keeps else { continue };
            lines.push(format!(
                "{} layers \u{d7} {} bytes = {} bytes per token",
                at.len(),
                whole(token as f64),
                whole((token * at.len() as u64) as f64)
            ));
            mixed.extend(at.iter().map(|at| (*at, token * block)));
        }
        let layers: Vec<u64> = mixed.iter().map(|(at, _)| *at).collect();
        let bytes: u64 = mixed.iter().map(|(_, bytes)| bytes).sum();
        let keeps = Keeps::All { token: bytes / block.max(1) };
        let width = layers.len() as u64;
        Self {
            groups: vec![Group { layers, keeps, block }],
            page: 0,
            width,
            mixed: Some(mixed),
            smallest_block: block,
            depth,
            release,
            lines,
        }
    }

    fn hybrid(kinds: Vec<(Keeps, Vec<u64>)>, depth: u64, block: u64, release: Release) -> Result<Self, String> {
        let mut lines = Vec::new();
        let token = |keeps: &Keeps| match *keeps {
            Keeps::All { token } | Keeps::Window { token, .. } | Keeps::Chunk { token, .. } => Some(token),
            Keeps::State { .. } => None,
        };
        let widest = kinds.iter().filter_map(|(keeps, _)| token(keeps)).max();
        let state = kinds.iter().filter_map(|(keeps, _)| if let Keeps::State { bytes, .. } = keeps { Some(*bytes) } else { None }).max();
        let (page, block) = match (widest, state) {
            (Some(widest), Some(state)) => {
                // A block of attention must be able to hold a state.
                let enough = block * state.div_ceil(block * widest);
                if enough > block {
                    lines.push(format!(
                        "blocks of {enough} tokens, so that one of {} bytes holds a state of {} bytes",
                        whole((enough * widest) as f64),
                        whole(state as f64)
                    ));
                }
                (block.max(enough) * widest, block.max(enough))
            }
            (Some(widest), None) => (widest * block, block),
            (None, Some(state)) => (state, block),
            (None, None) => return Err("no layer keeps anything".to_owned()),
        };
        let counts: Vec<u64> = kinds.iter().map(|(_, at)| at.len() as u64).collect();
        let (least, most) = (counts.iter().copied().min().unwrap_or(1), counts.iter().copied().max().unwrap_or(1));
        // Few layers more of one kind than of another are padded rather than split.
        let width = if (most as f64) < least as f64 * 1.5 { most } else { least };
        let mut groups = Vec::new();
        for (keeps, at) in kinds {
            let count = (at.len() as u64).div_ceil(width);
            let own = match token(&keeps) {
                // A narrower layer gets more tokens in a block of the same size, where that goes evenly.
                Some(token) if page.is_multiple_of(token * block) => page / token,
                _ => block,
            };
            lines.push(format!(
                "{} layers that keep {} form {count} group{} of {width}{}",
                at.len(),
                described(&keeps),
                if count == 1 { "" } else { "s" },
                padding(at.len() as u64, count, width)
            ));
            for group in 0..count {
                let layers =
                    at.iter().copied().skip(usize::try_from(group).unwrap_or(0)).step_by(usize::try_from(count).unwrap_or(1)).collect();
                groups.push(Group { layers, keeps, block: own });
            }
        }
        let smallest_block = groups.iter().map(|group| group.block).min().unwrap_or(block);
        lines.push(format!("a block takes {width} layers \u{d7} {} bytes = {} bytes", whole(page as f64), whole((width * page) as f64)));
        Ok(Self { groups, page, width, mixed: None, smallest_block, depth, release, lines })
    }

    pub(super) fn has_windows(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.keeps, Keeps::Window { .. } | Keeps::Chunk { .. }))
    }

    /// Bytes of a block in all layers.
    fn whole_block(&self) -> u64 {
        self.mixed.as_ref().map_or(self.width * self.page, |mixed| mixed.iter().map(|(_, bytes)| bytes).sum())
    }

    /// Bytes of a block on the ranks that have these layers; draft layers are on the last stage.
    pub(super) fn block_bytes(&self, layers: (u64, u64)) -> u64 {
        let is_last = layers.1 >= self.depth;
        if layers.0 == 0 && is_last {
            return self.whole_block();
        }
        let is_here = |at: u64| (layers.0..layers.1).contains(&at) || (is_last && at >= self.depth);
        if let Some(mixed) = &self.mixed {
            return mixed.iter().filter(|(at, _)| is_here(*at)).map(|(_, bytes)| bytes).sum();
        }
        let here = |group: &Group| group.layers.iter().filter(|at| is_here(**at)).count() as u64;
        self.groups.iter().map(here).max().unwrap_or(0) * self.page
    }

    /// The part of the stage that has the most of a block.
    pub(super) fn fullest(&self, stages: &[(u64, u64)]) -> Part {
        let whole = self.whole_block().max(1);
        Part { bytes: stages.iter().map(|layers| self.block_bytes(*layers)).max().unwrap_or(whole), whole }
    }

    /// Blocks that one request of so many tokens takes in a group.
    fn blocks(&self, group: &Group, context: u64, in_flight: u64) -> u64 {
        match group.keeps {
            Keeps::All { .. } => context.div_ceil(group.block),
            Keeps::Window { window, .. } => (window - 1 + in_flight).min(context).div_ceil(group.block) + 1,
            Keeps::Chunk { chunk, .. } => (chunk + in_flight).min(context).div_ceil(group.block),
            Keeps::State { .. } => 1,
        }
    }

    fn request_blocks(&self, context: u64, in_flight: u64) -> u64 {
        self.groups.iter().map(|group| self.blocks(group, context, in_flight)).sum::<u64>().max(1)
    }

    /// Blocks that the engine keeps room for at each request: those that it takes, and further states for prefix caching.
    fn admitted_blocks(&self, context: u64, in_flight: u64) -> u64 {
        let more = |group: &Group| match group.keeps {
            Keeps::State { blocks, .. } => blocks - 1,
            _ => 0,
        };
        self.request_blocks(context, in_flight) + self.groups.iter().map(more).sum::<u64>()
    }

    /// Bytes that one request of so many tokens takes.
    pub(super) fn request_bytes(&self, context: u64, in_flight: u64) -> u64 {
        self.request_blocks(context, in_flight).saturating_mul(self.whole_block())
    }

    /// Bytes for each token of a request.
    pub(super) fn growing(&self) -> f64 {
        let of = |group: &Group| match group.keeps {
            Keeps::All { .. } => self.whole_block() as f64 / group.block as f64,
            _ => 0.0,
        };
        self.groups.iter().map(of).sum()
    }

    /// Bytes of a request that do not grow with it: windows at their full size, states as they are.
    pub(super) fn fixed(&self, context: u64, in_flight: u64) -> u64 {
        let of = |group: &Group| match group.keeps {
            Keeps::All { .. } => 0,
            Keeps::State { bytes, .. } => bytes * group.layers.len() as u64,
            _ => self.blocks(group, context, in_flight).saturating_mul(self.whole_block()),
        };
        self.groups.iter().map(of).fold(0, u64::saturating_add)
    }

    /// How much a full request takes, by group.
    pub(super) fn request_lines(&self, context: u64, in_flight: u64) -> Vec<String> {
        if self.groups.len() == 1 {
            return Vec::new();
        }
        let mut kinds: Vec<(u64, u64, String)> = Vec::new();
        for group in &self.groups {
            let blocks = self.blocks(group, context, in_flight);
            let what = described(&group.keeps);
            match kinds.iter_mut().find(|(_, known, named)| *known == blocks && *named == what) {
                Some((count, ..)) => *count += 1,
                None => kinds.push((1, blocks, what)),
            }
        }
        let parts: Vec<String> =
            kinds.iter().map(|(groups, blocks, what)| format!("{groups} \u{d7} {} ({what})", whole(*blocks as f64))).collect();
        let (taken, admitted) = (self.request_blocks(context, in_flight), self.admitted_blocks(context, in_flight));
        let mut lines =
            vec![format!("a request of {} tokens takes {} blocks: {}", whole(context as f64), whole(taken as f64), parts.join(" + "))];
        if admitted > taken {
            lines.push(format!(
                "room is kept for {} blocks at each request: prefix caching has further states beside that of the request (--no-enable-prefix-caching turns it off)",
                whole(admitted as f64)
            ));
        }
        lines
    }

    /// The longest request that so many blocks hold, where it is shorter than this; zero where they hold none.
    pub(super) fn longest(&self, blocks: f64, context: u64, in_flight: u64) -> u64 {
        let null = if self.release >= Release(0, 29, 0) { 1.0 } else { 0.0 };
        let holds = |context: u64| self.admitted_blocks(context, in_flight) as f64 <= blocks - null;
        let (mut low, mut high) = (0, context);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if holds(middle) { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// What so many blocks give.
    pub(super) fn give(&self, blocks: f64, context: u64, in_flight: u64, headroom: f64) -> Give {
        let needed = self.admitted_blocks(context, in_flight) as f64;
        let concurrency = blocks / needed;
        // Since 0.29 one block is never used, and the check counts without it.
        let null = if self.release >= Release(0, 29, 0) { 1.0 } else { 0.0 };
        let fits = blocks - null >= needed;
        let tokens = match self.release {
            _ if self.release >= Release(0, 22, 0) => (concurrency * context as f64).trunc(),
            _ if self.release >= Release(0, 9, 0) => (blocks / self.groups.len() as f64).floor() * self.smallest_block as f64,
            _ => blocks * self.smallest_block as f64,
        };
        // What does not hold one full request is refused: then it is told how many tokens are missing.
        let tokens = if fits { tokens.max(context as f64) } else { (concurrency * context as f64 - context as f64).floor().min(0.0) };
        Give { tokens, requests: f64::INFINITY, headroom }
    }
}

fn described(keeps: &Keeps) -> String {
    match *keeps {
        Keeps::All { token } => format!("every token in {} bytes", whole(token as f64)),
        Keeps::Window { token, window } => format!("the last {} tokens in {} bytes each", whole(window as f64), whole(token as f64)),
        Keeps::Chunk { token, chunk } => format!("a chunk of {} tokens in {} bytes each", whole(chunk as f64), whole(token as f64)),
        Keeps::State { bytes, .. } => format!("a state of {} bytes", whole(bytes as f64)),
    }
}

fn padding(layers: u64, groups: u64, width: u64) -> String {
    let missing = groups * width - layers;
    if missing == 0 { String::new() } else { format!(", {missing} of them padding") }
}
