//! The look at outcomes that an answer rests on, in words: p and counts of one and the same moment, and none before there was one.

use super::sentence::{blocks, p_value};
use crate::design::sequential::Decision;
use crate::looks::Followed;
use crate::stats::Tally;
use crate::stats::peeking::FIRST_LOOK;

/// The look that an answer rests on.
pub(super) struct Look<'a> {
    followed: &'a Followed,
    /// `2 of 2 fail against 0 of 2`.
    pub(super) counts: String,
    /// Whether launches were made after it.
    is_earlier: bool,
}

impl<'a> Look<'a> {
    /// The look that was reached; `None` before the first.
    pub(super) fn of(followed: &'a Followed, treated: Tally, control: Tally) -> Option<Self> {
        let first = if followed.e_value.is_some() { 1 } else { FIRST_LOOK };
        let (x, y) = (followed.treated, followed.control);
        let counts = format!("{} of {} fail against {} of {}", x.failures(), x.trials(), y.failures(), y.trials());
        (followed.blocks >= first).then(|| Self { followed, counts, is_earlier: (x, y) != (treated, control) })
    }

    /// What it showed, with its own counts where later launches are among those that were named before.
    pub(super) fn said(&self) -> String {
        let seen = if self.followed.is_shown() { "a difference is shown" } else { "no difference is shown" };
        let after = blocks(self.followed.blocks);
        if !self.is_earlier {
            return format!("{seen} after {after}");
        }
        let left = matches!(self.followed.decision, Decision::CannotReach { spared, .. } if spared > 0);
        let last = if left { ", after which no outcome of the planned blocks could show one" } else { "" };
        format!("{seen} at the look after {after}, where {}{last}", self.counts)
    }
}

/// What a look came to, and what it would have to: `p = 0.029 against 0.050`, `e = 36.8, 20 are needed`.
pub(super) fn against_level(followed: &Followed, alpha: f64) -> String {
    match followed.e_value {
        Some(e) => format!("e = {}, {:.0} are needed", e_value(e), 1.0 / alpha),
        None => format!("{} against {alpha:.3}", p_value(followed.decision.p())),
    }
}

fn e_value(e: f64) -> String {
    if e < 1000.0 { format!("{e:.1}") } else { "above 1000".to_owned() }
}
