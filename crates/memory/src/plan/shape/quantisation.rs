//! How the weights of a checkpoint are quantised, and what it declares of its KV cache.

use serde_json::Value;

use crate::plan::config::{Config, ConfigError, list, shown};

/// How weights are quantised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantisation {
    /// The method, such as `fp8`, `mxfp4`, `awq`, `gptq`, `compressed-tensors`, `modelopt`.
    pub method: String,
    /// Rows and columns of the blocks that share a scale.
    pub block: Option<(u64, u64)>,
    /// Inputs that share a scale, for packed weights.
    pub group: Option<u64>,
    /// Modules that are left as they are.
    pub kept: Vec<String>,
}

impl Quantisation {
    /// Reads `quantization_config`, or `compression_config` as older files call it.
    ///
    /// # Errors
    ///
    /// It holds what it cannot hold.
    pub(super) fn read(config: &Config) -> Result<Option<Self>, ConfigError> {
        let fields = ["quantization_config", "compression_config"];
        if let Some((field, value)) =
            fields.iter().find_map(|field| Some((*field, config.get(field)?))).filter(|(_, value)| !value.is_object())
        {
            return Err(ConfigError::Wrong { field: field.to_owned(), found: shown(Some(value)), expected: "an object with fields" });
        }
        let Some(found) = declared(config) else { return Ok(None) };
        let method = found.get("quant_method").and_then(Value::as_str).or_else(|| inner(found, "quant_algo")).unwrap_or("unknown");
        let block =
            found.get("weight_block_size").filter(|block| !block.is_null()).map(|block| list("weight_block_size", block)).transpose()?;
        let block =
            block.and_then(|block| block.first().copied().zip(block.get(1).copied())).filter(|(rows, columns)| *rows > 0 && *columns > 0);
        let group = found.get("group_size").or_else(|| found.get("q_group_size")).and_then(Value::as_u64).filter(|group| *group > 0);
        let kept = ["modules_to_not_convert", "ignore", "exclude_modules"].into_iter().find_map(|key| found.get(key)?.as_array());
        let kept = kept.map(|kept| kept.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default();
        Ok(Some(Self { method: method.to_lowercase().replace('_', "-"), block, group, kept }))
    }

    /// Whether weights are 8-bit floating numbers with a scale for each block.
    #[must_use]
    pub fn is_block_fp8(&self) -> bool {
        self.method == "fp8" && self.block.is_some()
    }
}

/// What a checkpoint says of the numbers of its KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredKv {
    /// `kv_cache_quant_algo` says 8-bit floating numbers.
    Algorithm,
    /// `kv_cache_scheme` says 8-bit floating numbers.
    Scheme,
    /// `kv_cache_quant_algo` says 4-bit floating numbers.
    Four,
}

impl DeclaredKv {
    pub(super) fn read(config: &Config) -> Option<Self> {
        let found = declared(config)?;
        let algorithm = found.get("kv_cache_quant_algo").and_then(Value::as_str).or_else(|| inner(found, "kv_cache_quant_algo"));
        match algorithm.map(str::to_uppercase).as_deref() {
            Some("FP8") => return Some(Self::Algorithm),
            Some("NVFP4") => return Some(Self::Four),
            _ => {}
        }
        let scheme = found.get("kv_cache_scheme").filter(|scheme| !scheme.is_null())?;
        let is = |key: &str, value: &Value| scheme.get(key) == Some(value);
        (is("num_bits", &Value::from(8)) && is("type", &Value::from("float"))).then_some(Self::Scheme)
    }
}

fn declared(config: &Config) -> Option<&Value> {
    config.get("quantization_config").or_else(|| config.get("compression_config")).filter(|found| found.is_object())
}

/// A field of the object `quantization`, which some tools write one level deeper.
fn inner<'a>(found: &'a Value, key: &str) -> Option<&'a str> {
    found.get("quantization").and_then(|inner| inner.get(key)).and_then(Value::as_str)
}
