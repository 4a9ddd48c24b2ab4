//! What one measured effect says for and against a predicted direction, and how many launches would settle it.

use bystander_model::report::{Means, Needs};

use super::effect::{Effect, none_of};
use super::metric;
use crate::contrast::ALPHA;
use crate::plan::{Direction, Metric, Scale};
use crate::stats::planning::blocks_to_detect;

/// The chance of a decision that is planned for.
const POWER: f64 = 0.8;

/// An effect, as far as directions go.
pub(super) struct Found {
    /// The estimate less what means no effect, on the scale of the metric.
    change: f64,
    /// The estimate lies within the margin, shown or not.
    seems_none: bool,
    /// It is shown to lie within the margin.
    pub(super) is_within: bool,
    /// It is shown, and not shown to lie within the margin.
    is_shown: bool,
}

impl Found {
    /// Reads an effect; `None` where nothing was measured.
    pub(super) fn of(metric: &Metric, effect: &Effect) -> Option<Self> {
        let change = effect.estimate? - none_of(metric.scale);
        Some(Self {
            change,
            seems_none: metric.margin.map_or(change == 0.0, |margin| change.abs() < margin),
            // Launches without variation, and few of them, do not show that there is none.
            is_within: effect.is_within(metric) && !effect.may_vary(),
            is_shown: effect.is_shown(metric.scale) && !effect.is_within(metric),
        })
    }

    /// Whether the data so far go the predicted way, by however little.
    pub(super) fn goes(&self, direction: Direction) -> bool {
        match direction {
            Direction::Up => self.change > 0.0,
            Direction::Down => self.change < 0.0,
            Direction::None => self.seems_none && !self.is_shown,
        }
    }

    /// Whether the predicted direction is shown.
    pub(super) fn is_for(&self, direction: Direction) -> bool {
        match direction {
            Direction::None => self.is_within,
            _ => self.is_shown && self.goes(direction),
        }
    }

    /// Whether it is shown not to go so.
    pub(super) fn is_against(&self, direction: Direction) -> bool {
        match direction {
            Direction::None => self.is_shown,
            _ => self.is_within || self.is_shown && !self.goes(direction),
        }
    }

    /// Launches that would settle the prediction: where values do not vary, as many as make them exact; where they do, as many as show an effect of the
    /// size that was seen, or that there is none.
    pub(super) fn needs(&self, direction: Direction, metric: &Metric, effect: &Effect) -> Option<Needs> {
        if effect.identical && effect.n() > 1 {
            return if self.change == 0.0 { metric::exact(effect) } else { metric::needs(metric, effect) };
        }
        if direction == Direction::None || !self.goes(direction) {
            return metric::needs(metric, effect);
        }
        let estimate = effect.estimate?;
        let plain = if metric.scale == Scale::Ratio { estimate.ln() } else { estimate };
        let size = (plain / effect.spread.filter(|spread| *spread > 0.0)?).abs();
        let blocks = blocks_to_detect(size, ALPHA, POWER).ok().flatten()?;
        let rule = format!("80 % chance to show an effect as large as this one, at the spread seen, by a t interval at {ALPHA}");
        Some(Needs { launches_per_cell: Some(blocks), rule: Some(rule), ..Needs::of([(Means::Launches, "more blocks".to_owned())]) })
    }
}
