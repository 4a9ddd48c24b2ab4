//! What stands beside a t interval and enters no verdict: a shift that assumes no distribution, and the values that no interval allows for.

use bystander_model::cell::Cell;

use super::effect::Effect;
use super::metric::{change, percent_of};
use super::sentence::{figure, launches, signed};
use crate::plan::{Metric, Scale};
use crate::stats::location::{Shift, paired_shift, two_sample_shift};
use crate::stats::spikes::spikes;

/// The Hodges-Lehmann shift with its exact interval; `None` where so few launches cannot give one.
pub(super) fn shift(metric: &Metric, effect: &Effect) -> Option<String> {
    let plain = |value: f64| if metric.scale == Scale::Ratio { value.ln() } else { value };
    let is_fit = metric.scale == Scale::Difference || effect.all.iter().flatten().all(|value| *value > 0.0);
    if effect.identical || !is_fit {
        return None;
    }
    let found = if effect.unpaired {
        let [x, y] = &effect.all;
        let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().copied().map(plain).collect(), y.iter().copied().map(plain).collect());
        two_sample_shift(&x, &y, effect.confidence)
    } else {
        let differences: Vec<f64> = effect.pairs.iter().map(|pair| plain(pair.treated) - plain(pair.control)).collect();
        paired_shift(&differences, effect.confidence)
    };
    let Shift { estimate, interval, achieved } = found.ok().filter(|found| found.interval.low.is_finite())?;
    let said = |value: f64| if metric.scale == Scale::Ratio { change(value.exp()) } else { signed(value) };
    Some(format!(
        "check that assumes no distribution: Hodges-Lehmann {} [{} to {}, {}]",
        said(estimate),
        said(interval.low),
        said(interval.high),
        percent_of(achieved)
    ))
}

/// Says which launches lie far from the others of their cell: with them a t interval is too narrow, and no average tells of them.
pub(super) fn of_spikes(treated: &Cell, control: &Cell, effect: &Effect) -> Option<String> {
    let found = [treated, control].into_iter().zip(&effect.all).filter_map(|(cell, values)| {
        let found = spikes(values)?;
        let of = launches(u32::try_from(values.len()).unwrap_or(u32::MAX));
        Some(format!(
            "{} of {of} of {cell} ({} at the farthest, the median is {})",
            found.count,
            figure(found.farthest),
            figure(found.median)
        ))
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| format!(" Far from the others: {}; the interval allows for no such values.", found.join(" and ")))
}
