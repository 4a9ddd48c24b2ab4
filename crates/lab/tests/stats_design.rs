//! The order of launches and the rules that stop them, against pinned orders, the cited figures, and brute force.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use bystander_lab::design::order::{block_order, schedule};
use bystander_lab::design::reach::{attainable, blocks_needed, instrument_alpha, level_alpha, reach};
use bystander_lab::design::sequential::{Decision, SequentialRule};
use bystander_lab::design::settle::{Needs, clean_launches_to_bound, launches_to_settle, typical_power};
use bystander_lab::design::williams;
use bystander_lab::stats::fisher::fisher;
use bystander_lab::stats::peeking::{cap, worst_case};
use bystander_lab::stats::{StatsError, Tally};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

fn tally(failures: u32, trials: u32) -> Tally {
    Tally::new(failures, trials).unwrap()
}

/// The rules of two levels for plans of 2 to 10 blocks: made once, since a cap is enumerated for each.
static RULES: LazyLock<Vec<[SequentialRule; 2]>> =
    LazyLock::new(|| (2..=10).map(|planned| [0.05, 0.05 / 3.0].map(|alpha| SequentialRule::new(alpha, planned).unwrap())).collect());

#[test]
fn the_order_of_a_seed_is_pinned() {
    assert_eq!(schedule(6, 3, 20_260_101), PINNED_SIX);
    assert_eq!(block_order(4, 0, 0), PINNED_FOUR);
    assert_eq!(block_order(40, 1, 5), PINNED_FORTY);
}

// Computed once by an independent implementation of the documented algorithm; forty cells need more than one block of the key stream.
const PINNED_SIX: [[usize; 6]; 3] = [[1, 5, 0, 2, 4, 3], [3, 1, 0, 2, 4, 5], [1, 0, 4, 2, 5, 3]];
const PINNED_FOUR: [usize; 4] = [1, 3, 0, 2];
const PINNED_FORTY: [usize; 40] = [
    2, 26, 25, 12, 39, 28, 33, 34, 19, 24, 22, 20, 31, 37, 32, 10, 21, 1, 13, 30, 16, 0, 8, 27, 11, 38, 4, 35, 5, 7, 9, 14, 36, 6, 17, 3,
    18, 23, 29, 15,
];

#[test]
fn every_order_of_three_cells_comes_up_about_equally_often() {
    let mut counts = HashMap::new();
    for block in 0..6000 {
        *counts.entry(block_order(3, block, 7)).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 6);
    // Mean 1000, standard deviation 29; the schedule is fixed, so this cannot vary between runs.
    assert!(counts.values().all(|count| (880..1120).contains(count)), "{counts:?}");
}

proptest! {
    #[test]
    fn every_block_holds_every_cell_once_and_stands_alone(cells in 0_usize..20, blocks in 1_usize..8, seed in any::<u64>()) {
        let whole = schedule(cells, blocks, seed);
        for (block, order) in whole.iter().enumerate() {
            prop_assert_eq!(order.iter().copied().collect::<HashSet<_>>(), (0..cells).collect::<HashSet<_>>());
            prop_assert_eq!(order.len(), cells);
            prop_assert_eq!(order, &block_order(cells, block, seed));
        }
    }

    #[test]
    fn curtailment_is_what_brute_force_says(
        outcomes in proptest::collection::vec((any::<bool>(), any::<bool>()), 0..6), planned in 2_usize..8, level in 0_usize..2,
    ) {
        let rule = RULES[planned - 2][level];
        let done = outcomes.len() as u32;
        let arm = tally(outcomes.iter().filter(|(arm, _)| *arm).count() as u32, done);
        let control = tally(outcomes.iter().filter(|(_, control)| *control).count() as u32, done);
        let significant = |more: u32| {
            (0..=more).any(|x| (0..=more).any(|y| {
                let p = fisher(arm.plus(x, more).unwrap(), control.plus(y, more).unwrap()).two_sided;
                done + more >= 2 && p <= rule.alpha()
            }))
        };
        let left = rule.last_look().saturating_sub(done);
        let earliest = (1..=left).find(|more| significant(*more));
        match rule.look(done, arm, control) {
            Decision::Different { p } => prop_assert!(p <= rule.alpha() && (2..=rule.last_look()).contains(&done)),
            Decision::Continue { p, earliest: found } => {
                prop_assert_eq!(Some(found), earliest);
                prop_assert!(p > rule.alpha());
            }
            Decision::CannotReach { p, spared } => {
                prop_assert!(p > rule.alpha() || !(2..=rule.last_look()).contains(&done));
                prop_assert_eq!(earliest, None);
                prop_assert_eq!(spared, left);
            }
        }
    }

    #[test]
    fn more_blocks_after_a_decision_change_nothing(outcomes in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..12)) {
        let blocks: Vec<(Tally, Tally)> = outcomes.iter().map(|(arm, control)| (tally(u32::from(*arm), 1), tally(u32::from(*control), 1))).collect();
        let rule = RULES[8][0];
        let whole = rule.follow(&blocks).unwrap();
        let until = rule.follow(&blocks[..whole.blocks as usize]).unwrap();
        prop_assert_eq!(whole, until);
        prop_assert!(whole.blocks as usize == blocks.len() || !whole.decision.wants_more());
    }
}

#[test]
fn caps_and_their_worst_cases_are_the_cited_ones() {
    for (alpha, blocks, worst, beyond) in
        [(0.05, 10, 0.046_367_645_263_7, 0.050_542_831_420_9), (0.0167, 12, 0.016_648_054_122_9, 0.018_659_532_070_2)]
    {
        assert_eq!(cap(alpha).unwrap(), blocks);
        assert!((worst_case(alpha, blocks).unwrap() - worst).abs() < 1e-9);
        assert!((worst_case(alpha, blocks + 1).unwrap() - beyond).abs() < 1e-9);
    }
    assert_eq!(cap(instrument_alpha(0.05)).unwrap(), 12);
    // Two non-baseline levels share alpha.
    assert_eq!(cap(level_alpha(0.05, 2)).unwrap(), 12);
    assert!(matches!(cap(0.0), Err(StatsError::OutOfRange { .. })));
}

#[test]
fn a_plan_that_is_too_short_for_its_level_is_seen() {
    assert_eq!(blocks_needed(0.05).unwrap(), 4);
    assert_eq!(blocks_needed(instrument_alpha(0.05)).unwrap(), 5);
    assert!(attainable(0.05, 4).unwrap() && !attainable(0.05, 3).unwrap());
    assert!(attainable(0.05 / 3.0, 5).unwrap() && !attainable(0.05 / 3.0, 4).unwrap());
    let plan = reach(0.05, 20).unwrap();
    assert_eq!((plan.last_look, plan.cap, plan.needed, plan.attainable), (10, 10, 4, true));
    assert!(plan.worst_case <= 0.05);
    assert!(!reach(0.05, 3).unwrap().attainable);
    assert!(blocks_needed(f64::NAN).is_err() && blocks_needed(0.0).is_err());
}

#[test]
fn complete_separation_decides_after_the_fourth_block() {
    let rule = SequentialRule::new(0.05, 10).unwrap();
    let blocks = [(tally(1, 1), tally(0, 1)); 6];
    let followed = rule.follow(&blocks).unwrap();
    assert_eq!(followed.blocks, 4);
    assert!(matches!(followed.decision, Decision::Different { p } if (p - 2.0 / 70.0).abs() < 1e-12));
    assert_eq!(rule.look(3, tally(3, 3), tally(0, 3)), Decision::Continue { p: fisher(tally(3, 3), tally(0, 3)).two_sided, earliest: 1 });
    assert_eq!(rule.look(0, Tally::default(), Tally::default()), Decision::Continue { p: 1.0, earliest: 4 });
}

#[test]
fn arms_that_agree_are_given_up_when_nothing_can_change_it() {
    let rule = SequentialRule::new(0.05, 10).unwrap();
    let agreeing = [(tally(0, 1), tally(0, 1)); 10];
    let followed = rule.follow(&agreeing).unwrap();
    // Five failures of ten against none would still reach 0.05 (p = 0.033), four would not.
    assert_eq!(followed.blocks, 6);
    assert!(matches!(followed.decision, Decision::CannotReach { spared: 4, .. }));
    // After the last look nothing is a difference any more, whatever p.
    assert!(matches!(rule.look(11, tally(11, 11), tally(0, 11)), Decision::CannotReach { spared: 0, .. }));
}

#[test]
fn what_is_missing_is_counted_from_the_rates_seen() {
    let needs = launches_to_settle(tally(1, 1), tally(0, 1), 0.05).unwrap();
    assert_eq!(needs, Some(Needs { per_arm: 4, arm_missing: 3, control_missing: 3 }));
    assert_eq!(launches_to_settle(tally(3, 3), tally(0, 0), 0.05).unwrap(), None);
    assert_eq!(launches_to_settle(tally(2, 4), tally(1, 2), 0.05).unwrap(), None);
    assert_eq!(clean_launches_to_bound(tally(0, 4), 0.1).unwrap(), Some(25));
    assert_eq!(clean_launches_to_bound(tally(1, 4), 0.1).unwrap(), None);
    let typical = typical_power(0.05, 10).unwrap();
    assert!(typical.iter().all(|case| case.plan.power > 0.6) && (typical[0].plan.expected_blocks - 4.0).abs() < 1e-9);
}

#[test]
fn williams_rows_balance_neighbours() {
    assert_eq!(williams::rows(4), [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]);
    for cells in 2..9 {
        let rows = williams::rows(cells);
        let times = if cells % 2 == 0 { 1 } else { 2 };
        assert_eq!(rows.len(), cells * times);
        for first in 0..cells {
            for second in (0..cells).filter(|second| *second != first) {
                let pairs = rows.iter().flat_map(|row| row.windows(2)).filter(|pair| *pair == [first, second]).count();
                assert_eq!(pairs, times, "{cells}: {first} then {second}");
            }
            for place in 0..cells {
                assert_eq!(rows.iter().filter(|row| row[place] == first).count(), times);
            }
        }
    }
    assert!(williams::rows(0).is_empty());
    assert_eq!(williams::rows(1), [[0]]);
}
