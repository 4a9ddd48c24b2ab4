//! What is held right now: lines for a terminal that are drawn over and over, or one line now and then where there is none.

use bystander_model::samples::{GpuSamples, Samples, Series};

use super::super::chart::Drawn;
use super::words;
use crate::number::{self, size};
use crate::prose::shorten;
use crate::style::Style;

/// GPUs that have a line.
const MOST: usize = 8;
/// Columns of the curve.
const CURVE: usize = 24;

/// What is held now, a line for each GPU and one for the host.
#[must_use]
pub fn memory_live(samples: &Samples, now_s: f64, phase: Option<&str>, style: &Style) -> Vec<String> {
    let curve = |series: &Series, full: u64| {
        let drawn = Drawn { columns: CURVE, rows: 1, full, end_s: now_s, least: false, unicode: style.unicode };
        drawn.rows(series).concat()
    };
    let gpu = |gpu: &GpuSamples| {
        let now = gpu.last_bytes.map_or_else(|| "no answer".to_owned(), |now| format!("{} of {}", size(now), size(gpu.total_bytes)));
        let peak = gpu.peak_bytes.map_or_else(String::new, |peak| format!(", peak {}", size(peak)));
        format!("GPU {}  {}  {now}{peak}", gpu.index, curve(&gpu.series, gpu.total_bytes))
    };
    let mut lines: Vec<String> = samples.gpus.iter().take(MOST).map(gpu).collect();
    if samples.gpus.len() > MOST {
        lines.push(format!("and {} more GPUs", samples.gpus.len() - MOST));
    }
    let peak = samples.peak_rss_bytes.unwrap_or(0);
    let now = samples.rss.0.last().map_or(0, |(_, now)| *now);
    lines.push(format!("host   {}  {} resident, peak {}{}", curve(&samples.rss, peak), size(now), size(peak), left(samples)));
    let phase = phase.map_or_else(String::new, |phase| format!(", {}", words::phase(phase)));
    lines.push(format!("{}{phase}", number::about(now_s)));
    lines.into_iter().map(|line| shorten(&line, style.width)).collect()
}

/// The same in one line, for somebody who reads along.
#[must_use]
pub fn memory_pulse(samples: &Samples, now_s: f64, phase: Option<&str>) -> String {
    let gpu = |gpu: &GpuSamples| {
        let peak = gpu.peak_bytes.map_or_else(String::new, |peak| format!(" (peak {})", size(peak)));
        format!("GPU {} {}{peak}", gpu.index, gpu.last_bytes.map_or_else(|| "does not answer".to_owned(), size))
    };
    let now = samples.rss.0.last().map_or(0, |(_, now)| *now);
    let mut parts: Vec<String> = samples.gpus.iter().map(gpu).collect();
    parts.push(format!("{} resident{}", size(now), left(samples)));
    let phase = phase.map_or_else(String::new, |phase| format!(" {}", words::phase(phase)));
    format!("{}{phase}: {}", number::about(now_s), parts.join(", "))
}

fn left(samples: &Samples) -> String {
    samples.available.0.last().map_or_else(String::new, |(_, left)| format!(", {} left", size(*left)))
}
