//! Which cells are compared, and at which level: fixed by the plan before the first launch.

use bystander_model::cell::Cell;

use crate::plan::Plan;

/// The level of a factor's contrast on outcomes, before it is shared among the factor's levels.
pub const ALPHA: f64 = 0.05;

/// The level of all that is tested of one instrument on outcomes, in every state together.
pub const INSTRUMENT_ALPHA: f64 = ALPHA / 3.0;

/// What a comparison is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// One level of a factor against the baseline's level, nothing put in.
    Factor {
        /// The factor.
        factor: String,
        /// The level.
        level: String,
    },
    /// Levels of several factors at once against the baseline, nothing put in.
    Combination,
    /// One instrument level against nothing put in, at the same levels.
    Instrument {
        /// The instrument level.
        instrument: String,
    },
}

/// One comparison of two cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// What it is about.
    pub subject: Subject,
    /// The cell that is compared.
    pub treated: Cell,
    /// The cell that it is compared with.
    pub control: Cell,
    /// The level of its test on outcomes.
    pub alpha: f64,
}

impl Contrast {
    /// Whether it is made with the baseline itself; an instrument is also compared beside the other levels.
    #[must_use]
    pub fn is_with_baseline(&self, plan: &Plan) -> bool {
        self.control == plan.baseline
    }

    /// Whether it is asked beside main comparisons: an instrument beside other levels, where it is compared on the baseline too, and levels put together,
    /// where one of them is compared alone.
    #[must_use]
    pub fn is_beside(&self, plan: &Plan) -> bool {
        match &self.subject {
            Subject::Factor { .. } => false,
            Subject::Combination => parts(plan, &self.treated).next().is_some(),
            Subject::Instrument { instrument } => {
                let on_baseline = states_of_instrument(plan, instrument).iter().any(|(_, without)| **without == plan.baseline);
                on_baseline && !self.is_with_baseline(plan)
            }
        }
    }

    /// The levels in which its cells differ: `a=yes,b=yes`.
    #[must_use]
    pub fn levels(&self) -> String {
        let differ = self.treated.levels.iter().filter(|(factor, level)| self.control.levels.get(*factor) != Some(level));
        differ.map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(",")
    }

    /// The `about` of its answers: `factor:NAME`, `factor:NAME=LEVEL` where several levels are compared, `combination:NAME=LEVEL,NAME=LEVEL`, or
    /// `instrument:NAME`.
    #[must_use]
    pub fn about(&self, plan: &Plan) -> String {
        match &self.subject {
            Subject::Factor { factor, level } if plan.factors.get(factor).is_some_and(|levels| levels.len() > 2) => {
                format!("factor:{factor}={level}")
            }
            Subject::Factor { factor, .. } => format!("factor:{factor}"),
            Subject::Combination => format!("combination:{}", self.levels()),
            Subject::Instrument { instrument } => format!("instrument:{instrument}"),
        }
    }
}

/// Every contrast of a plan whose cells are launched: factors first, then levels put together, then instruments.
///
/// A level of a factor is compared on the baseline. Where the plan declares its cells and that one is not among them, it is compared in the two bare cells
/// that differ in nothing else and are nearest to the baseline.
///
/// A factor with k levels beside the baseline's is tested at [`ALPHA`] / k each; every instrument at a fixed [`INSTRUMENT_ALPHA`], which its states
/// share (see [`state_alpha`]), so that adding an instrument never changes the level of another. All cells that put levels together share one [`ALPHA`].
#[must_use]
pub fn contrasts(plan: &Plan) -> Vec<Contrast> {
    let mut found = Vec::new();
    for (factor, levels) in &plan.factors {
        let baseline = plan.baseline.levels.get(factor);
        let others: Vec<&String> = levels.keys().filter(|level| Some(*level) != baseline).collect();
        for level in &others {
            let mut treated = plan.baseline.clone();
            treated.levels.insert(factor.clone(), (*level).clone());
            let subject = Subject::Factor { factor: factor.clone(), level: (*level).clone() };
            let launched = plan.cells.contains(&treated);
            let pair = if launched { None } else { nearest_pair(plan, factor, level) };
            let (treated, control) = pair.map_or((treated, plan.baseline.clone()), |(with, without)| (with.clone(), without.clone()));
            found.push(Contrast { subject, treated, control, alpha: ALPHA / others.len() as f64 });
        }
    }
    let together: Vec<&Cell> = bare(plan).filter(|cell| away(plan, cell) > 1).collect();
    for treated in &together {
        let (treated, control) = ((*treated).clone(), plan.baseline.clone());
        found.push(Contrast { subject: Subject::Combination, treated, control, alpha: ALPHA / together.len() as f64 });
    }
    for instrument in plan.instruments.keys().filter(|name| **name != plan.baseline.instrument) {
        for (with, without) in states_of_instrument(plan, instrument) {
            let subject = Subject::Instrument { instrument: instrument.clone() };
            let alpha = state_alpha(plan, instrument, without);
            found.push(Contrast { subject, treated: with.clone(), control: without.clone(), alpha });
        }
    }
    found.retain(|contrast| plan.cells.contains(&contrast.treated) && plan.cells.contains(&contrast.control));
    found
}

/// The two bare cells that differ only in that one has a level and the other the baseline's, those with the fewest other differences from the baseline first.
fn nearest_pair<'a>(plan: &'a Plan, factor: &str, level: &str) -> Option<(&'a Cell, &'a Cell)> {
    let usual = plan.baseline.levels.get(factor)?;
    let pairs = bare(plan).filter(|cell| cell.levels.get(factor).is_some_and(|of| of == level)).filter_map(|with| {
        let mut levels = with.levels.clone();
        levels.insert(factor.to_owned(), usual.clone());
        Some((with, bare(plan).find(|cell| cell.levels == levels)?))
    });
    pairs.min_by_key(|(with, _)| away(plan, with))
}

/// The cells with nothing put in.
fn bare(plan: &Plan) -> impl Iterator<Item = &Cell> {
    plan.cells.iter().filter(|cell| cell.instrument == plan.baseline.instrument)
}

/// In how many levels a cell differs from the baseline.
fn away(plan: &Plan, cell: &Cell) -> usize {
    cell.levels.iter().filter(|(name, level)| plan.baseline.levels.get(*name) != Some(level)).count()
}

/// The bare cells that hold some of the levels that a cell puts together, and otherwise the baseline's.
pub fn parts<'a>(plan: &'a Plan, whole: &'a Cell) -> impl Iterator<Item = &'a Cell> {
    let is_part = |cell: &&Cell| {
        let (baseline, whole) = (&plan.baseline.levels, &whole.levels);
        cell.levels.iter().all(|(name, level)| baseline.get(name) == Some(level) || whole.get(name) == Some(level))
    };
    bare(plan).filter(move |cell| **cell != plan.baseline && cell.levels != whole.levels).filter(is_part)
}

/// The other bare cells in which a level of a factor can be compared: with it and with the control's level, all other levels being the same.
pub fn states_of_level<'a>(plan: &'a Plan, contrast: &'a Contrast) -> impl Iterator<Item = (&'a Cell, &'a Cell)> {
    let factor = if let Subject::Factor { factor, .. } = &contrast.subject { Some(factor) } else { None };
    let (level, usual) =
        (factor.and_then(|factor| contrast.treated.levels.get(factor)), factor.and_then(|factor| contrast.control.levels.get(factor)));
    bare(plan)
        .filter(move |with| **with != contrast.treated && level.is_some() && factor.and_then(|factor| with.levels.get(factor)) == level)
        .filter_map(move |with| {
            let mut levels = with.levels.clone();
            levels.insert(factor?.clone(), usual?.clone());
            Some((with, bare(plan).find(|cell| cell.levels == levels)?))
        })
}

/// What the cells of a plan cannot answer, in sentences; nothing where every combination is a cell.
#[must_use]
pub fn unanswered(plan: &Plan) -> Vec<String> {
    let made = contrasts(plan);
    let mut found = Vec::new();
    for (factor, levels) in &plan.factors {
        let usual = plan.baseline.levels.get(factor);
        for level in levels.keys().filter(|level| Some(*level) != usual) {
            let wanted = Subject::Factor { factor: factor.clone(), level: level.clone() };
            if made.iter().any(|contrast| contrast.subject == wanted) {
                continue;
            }
            let usual = usual.map_or("", String::as_str);
            found.push(format!(
                "{factor}={level} is not compared: no two declared cells differ in this alone, {level} in one and {usual} in the other"
            ));
        }
    }
    for instrument in plan.instruments.keys().filter(|name| **name != plan.baseline.instrument) {
        for cell in plan.cells.iter().filter(|cell| cell.instrument == *instrument) {
            if !plan.cells.iter().any(|other| other.is_bare() && other.levels == cell.levels) {
                found.push(format!("{cell} is compared with nothing: no declared cell has the same levels without {instrument}"));
            }
        }
        if !plan.cells.iter().any(|cell| cell.instrument == *instrument) {
            found.push(format!("{instrument} is never put in: no declared cell has it"));
        }
    }
    found
}

/// The treatment states in which an instrument is compared: every combination of levels that is launched with and without it, the baseline first.
#[must_use]
pub fn states_of_instrument<'a>(plan: &'a Plan, instrument: &str) -> Vec<(&'a Cell, &'a Cell)> {
    plan.cells
        .iter()
        .filter(|cell| cell.instrument == instrument)
        .filter_map(|with| {
            let without = plan.cells.iter().find(|cell| cell.is_bare() && cell.levels == with.levels)?;
            Some((with, without))
        })
        .collect()
}

/// The level of an instrument's comparison in one state, which is named by its cell without the instrument.
///
/// A difference in any state says that the instrument perturbs, so the states share one level: half of it is the baseline's, which so depends on nothing
/// but whether there is another state, and the others share the other half.
#[must_use]
pub fn state_alpha(plan: &Plan, instrument: &str, without: &Cell) -> f64 {
    let states = states_of_instrument(plan, instrument);
    let others = states.iter().filter(|(_, without)| **without != plan.baseline).count();
    match (others < states.len(), others) {
        (true, 0) => INSTRUMENT_ALPHA,
        (true, _) if *without == plan.baseline => INSTRUMENT_ALPHA / 2.0,
        (true, others) => INSTRUMENT_ALPHA / 2.0 / others as f64,
        (false, others) => INSTRUMENT_ALPHA / others.max(1) as f64,
    }
}
