//! What layers without attention keep per request: convolution windows and recurrent states.

use serde_json::Value;

use crate::plan::config::{Config, ConfigError, number};

/// The state of one layer for one request. All counts are over all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Gated delta net: keys and values of heads.
    Delta {
        /// Heads of keys.
        key_heads: u64,
        /// Heads of values.
        value_heads: u64,
        /// The width of a key.
        key: u64,
        /// The width of a value.
        value: u64,
        /// Taps of the convolution.
        kernel: u64,
    },
    /// Kimi delta attention.
    Kimi {
        /// Heads.
        heads: u64,
        /// The width of one.
        width: u64,
        /// Taps of the convolution.
        kernel: u64,
    },
    /// Mamba 2.
    Mamba2 {
        /// The inner width.
        inner: u64,
        /// Groups that share their projections.
        groups: u64,
        /// Heads.
        heads: u64,
        /// The width of a head.
        width: u64,
        /// The size of the state of one channel.
        state: u64,
        /// Taps of the convolution.
        kernel: u64,
    },
    /// Mamba 1.
    Mamba1 {
        /// The inner width.
        inner: u64,
        /// The size of the state of one channel.
        state: u64,
        /// Taps of the convolution.
        kernel: u64,
    },
    /// Lightning attention: one square matrix a head.
    Lightning {
        /// Heads.
        heads: u64,
        /// The width of one.
        width: u64,
    },
    /// A short convolution alone.
    Convolution {
        /// Channels.
        width: u64,
        /// Taps.
        kernel: u64,
    },
}

/// Elements of one layer's state for one request on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSize {
    /// Of the window of the convolution.
    pub window: u64,
    /// Of the recurrent state.
    pub recurrent: u64,
}

impl State {
    /// How large it is on one of so many ranks; `None` where the heads cannot be shared out evenly, which engines refuse.
    #[must_use]
    pub fn size(&self, ranks: u64) -> Option<StateSize> {
        let even = |all: u64| all.is_multiple_of(ranks).then(|| all / ranks);
        let taps = |kernel: u64| kernel.saturating_sub(1);
        Some(match *self {
            Self::Delta { key_heads, value_heads, key, value, kernel } => StateSize {
                window: even(2 * key_heads * key + value_heads * value)? * taps(kernel),
                recurrent: even(value_heads)? * value * key,
            },
            Self::Kimi { heads, width, kernel } => {
                StateSize { window: even(3 * heads * width)? * taps(kernel), recurrent: even(heads)? * width * width }
            }
            Self::Mamba2 { inner, groups, heads, width, state, kernel } => {
                // A rank needs the group of each of its heads: groups are copied where they do not share out.
                let groups = if groups.is_multiple_of(ranks) { groups } else { ranks };
                StateSize { window: even(inner + 2 * groups * state)? * taps(kernel), recurrent: even(heads)? * width * state }
            }
            Self::Mamba1 { inner, state, kernel } => StateSize { window: even(inner)? * taps(kernel), recurrent: even(inner)? * state },
            Self::Lightning { heads, width } => StateSize { window: 0, recurrent: even(heads)? * width * width },
            Self::Convolution { width, kernel } => StateSize { window: even(width)? * taps(kernel), recurrent: 0 },
        })
    }

    /// The gated delta net of Qwen3-Next and its kin.
    pub(super) fn delta(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self::Delta {
            key_heads: config.needed(&["linear_num_key_heads"])?,
            value_heads: config.needed(&["linear_num_value_heads"])?,
            key: config.needed(&["linear_key_head_dim"])?,
            value: config.needed(&["linear_value_head_dim"])?,
            kernel: config.needed(&["linear_conv_kernel_dim"])?,
        })
    }

    /// Kimi-Linear: the fields are in `linear_attn_config`.
    pub(super) fn kimi(linear: &Value) -> Result<Self, ConfigError> {
        let of = |field: &'static str| linear.get(field).map_or(Err(ConfigError::Missing { field }), |value| number(field, value));
        Ok(Self::Kimi { heads: of("num_heads")?, width: of("head_dim")?, kernel: of("short_conv_kernel_size")? })
    }

    /// Mamba 2 under the names of Nemotron-H, Falcon-H1, Bamba, Granite and Mamba 2 itself.
    pub(super) fn mamba2(config: &Config) -> Result<Self, ConfigError> {
        let heads = config.needed(&["mamba_num_heads", "mamba_n_heads", "num_heads", "n_mamba_heads"])?;
        let hidden = config.needed(&["hidden_size", "d_model"])?;
        let expand = config.any_number(&["mamba_expand", "expand"])?.unwrap_or(2);
        let width = match config.any_number(&["mamba_head_dim", "mamba_d_head"])? {
            Some(width) => width,
            // `head_dim` is that of attention where there is attention.
            None if config.model_type() == "mamba2" => config.needed(&["head_dim"])?,
            None => expand * hidden / heads,
        };
        let inner = config.number("mamba_d_ssm")?.unwrap_or(heads * width);
        Ok(Self::Mamba2 {
            inner,
            groups: config.any_number(&["n_groups", "mamba_n_groups", "mamba_ngroups"])?.unwrap_or(1),
            heads,
            width,
            state: config.needed(&["ssm_state_size", "mamba_d_state", "state_size", "mamba_state_dim"])?,
            kernel: config.any_number(&["conv_kernel", "mamba_d_conv"])?.unwrap_or(4),
        })
    }

    /// Mamba 1 under the names of Jamba and Mamba itself.
    pub(super) fn mamba1(config: &Config) -> Result<Self, ConfigError> {
        let hidden = config.needed(&["hidden_size", "d_model"])?;
        let expand = config.any_number(&["mamba_expand", "expand"])?.unwrap_or(2);
        Ok(Self::Mamba1 {
            inner: config.any_number(&["intermediate_size"])?.filter(|_| config.model_type().contains("mamba")).unwrap_or(expand * hidden),
            state: config.any_number(&["mamba_d_state", "state_size"])?.unwrap_or(16),
            kernel: config.any_number(&["mamba_d_conv", "conv_kernel"])?.unwrap_or(4),
        })
    }
}
