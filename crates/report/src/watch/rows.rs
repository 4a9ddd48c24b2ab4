//! Hits as rows: seconds since the start, rank or process, probe, values. Columns stand fast from the first row, for nobody knows the last.

use std::fmt::Write as _;

use bystander_model::hit::Hit;
use bystander_model::ids::TimeNs;
use unicode_width::UnicodeWidthStr as _;

use crate::number;
use crate::prose::clean;
use crate::style::Style;

/// Room for `pid 4194304`, the largest process number.
const WHO: usize = 11;
/// Room for a day in seconds with six decimals.
const TIME: usize = 12;

/// Writes hits as rows of one table.
#[derive(Debug, Clone)]
pub struct HitRows {
    started: TimeNs,
    probe: usize,
    style: Style,
}

impl HitRows {
    /// Rows of a program that was started at `started`, with probes of these names.
    #[must_use]
    pub fn new<'a>(started: TimeNs, probes: impl IntoIterator<Item = &'a str>, style: Style) -> Self {
        let probe = probes.into_iter().map(|name| clean(name).width()).chain(["probe".len()]).max().unwrap_or(0);
        Self { started, probe, style }
    }

    /// The line above the rows, with its line end.
    #[must_use]
    pub fn header(&self) -> String {
        format!("{:>TIME$}  {:<WHO$}  {:<probe$}  values\n", "seconds", "process", "probe", probe = self.probe)
    }

    /// Writes a hit as a row, with its line end.
    pub fn row(&self, hit: &Hit, text: &mut String) {
        let seconds = TimeNs(hit.time_ns).seconds_since(self.started);
        let who = hit.rank.map_or_else(|| format!("pid {}", hit.pid), |rank| format!("rank {rank}"));
        let probe = clean(&hit.probe);
        let room = self.probe.saturating_sub(probe.width());
        let _ = write!(text, "{seconds:>TIME$.6}  {who:<WHO$}  {probe}{:room$}", "");
        for (name, value) in &hit.values {
            let value = self.style.signs(number::exact(value));
            let _ = write!(text, "  {}={value}", clean(name));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
}
