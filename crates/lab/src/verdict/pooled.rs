//! The effect of a level pooled over the instruments, where none of them is shown to perturb. It describes, and enters no verdict: the verdict is
//! that of the program as others run it, with nothing put in, by the rule that the plan fixed.

use bystander_model::cell::Cell;
use bystander_model::report::{Answer, Verdict};

use super::arm::Arm;
use super::sentence::p_value;
use crate::carry::Baselines;
use crate::contrast::{self, ALPHA, Contrast, Subject};
use crate::ledger::Ledger;
use crate::looks;
use crate::stats::strata::{Stratum, exact_cmh, zelen};

/// Adds the pooled comparison to an answer about a level.
pub(super) fn describe(answer: &mut Answer, ledger: &Ledger, contrast: &Contrast) {
    if !matches!(contrast.subject, Subject::Factor { .. }) || Baselines::of(ledger).carried_over().is_some() {
        return;
    }
    let (mut names, mut strata) = (Vec::new(), Vec::new());
    for instrument in ledger.plan.instruments.keys() {
        let with = |cell: &Cell| Cell { instrument: instrument.clone(), ..cell.clone() };
        let (treated, control) = (with(&contrast.treated), with(&contrast.control));
        let (arm, other) = (Arm::of(ledger, &treated), Arm::of(ledger, &control));
        if arm.is_empty()
            || other.is_empty()
            || perturbs(ledger, &treated, &contrast.treated)
            || perturbs(ledger, &control, &contrast.control)
        {
            continue;
        }
        names.push(instrument.as_str());
        strata.push(Stratum { arm: arm.tally(), control: other.tally() });
    }
    if strata.len() < 2 {
        return;
    }
    let (Ok(common), Ok(same)) = (exact_cmh(&strata), zelen(&strata)) else { return };
    let (p, over) = (common.two_sided, names.join(", "));
    answer.numbers.push(format!(
        "pooled over {over}, none of which is shown to perturb: {} (exact CMH), one effect in all of them: {} (Zelen); enters no verdict",
        p_value(p),
        p_value(same)
    ));
    if answer.verdict == Verdict::Insufficient && p <= contrast.alpha && same > ALPHA {
        answer.text.push_str(&format!(
            " Pooled over {over}, none of which is shown to perturb, it is {} (exact CMH): that points to an effect, and enters no verdict.",
            p_value(p)
        ));
    }
}

/// Whether an instrument is shown to change the outcome beside the levels of a cell, or is blamed for a failure there.
fn perturbs(ledger: &Ledger, with: &Cell, without: &Cell) -> bool {
    if with == without {
        return false;
    }
    let blamed =
        ledger.data(with).any(|trial| trial.end.as_ref().and_then(|end| end.cause.as_ref()).is_some_and(|cause| cause.blames.is_some()));
    let alpha = contrast::state_alpha(&ledger.plan, &with.instrument, without);
    let followed = looks::follow_cells(ledger, with, without, alpha, ledger.plan.blocks.max);
    blamed || followed.is_some_and(|followed| followed.is_shown())
}
