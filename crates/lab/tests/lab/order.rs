//! The order of launches, lanes, seeds and paddings: functions of the recorded seed and the place alone, and balanced as they promise.

use std::collections::{BTreeMap, BTreeSet};

use bystander_lab::design::lanes::lanes_of_block;
use bystander_lab::design::nuisance::{PADDING_BYTES, padding_of, seed_of_block};
use bystander_lab::design::{order, williams};
use bystander_model::cell::Cell;
use bystander_model::event::{Purpose, Slot};
use indexmap::IndexMap;
use proptest::prelude::*;

use crate::scripted::{Ends, Scripted, plan, run};

/// How often each ordered pair of neighbours occurs in some rows.
fn neighbours(rows: &[Vec<usize>]) -> BTreeMap<(usize, usize), u32> {
    let mut pairs = BTreeMap::new();
    rows.iter().flat_map(|row| row.windows(2)).for_each(|pair| *pairs.entry((pair[0], pair[1])).or_default() += 1);
    pairs
}

proptest! {
    #[test]
    fn a_cycle_of_a_williams_design_balances_neighbours_and_places(cells in 2_usize..12, number in 0_usize..5, seed: u64) {
        let rows = williams::cycle(cells, number, seed);
        let times = if cells % 2 == 1 { 2 } else { 1 };
        prop_assert_eq!(rows.len(), times * cells);
        let pairs = neighbours(&rows);
        prop_assert_eq!(pairs.len(), cells * (cells - 1), "every ordered pair of different cells");
        prop_assert!(pairs.values().all(|count| *count as usize == times));
        for place in 0..cells {
            let mut here: Vec<usize> = rows.iter().map(|row| row[place]).collect();
            here.sort_unstable();
            let wanted: Vec<usize> = (0..cells).flat_map(|cell| vec![cell; times]).collect();
            prop_assert_eq!(here, wanted, "every cell equally often at place {}", place);
        }
    }

    #[test]
    fn a_schedule_does_not_depend_on_how_many_blocks_are_asked_for(cells in 1_usize..9, blocks in 1_usize..40, seed: u64) {
        prop_assert_eq!(&order::schedule(cells, 40, seed)[..blocks], &order::schedule(cells, blocks, seed)[..]);
        prop_assert_eq!(&williams::schedule(cells, 40, seed)[..blocks], &williams::schedule(cells, blocks, seed)[..]);
    }

    #[test]
    fn every_cell_was_in_every_lane_once_after_as_many_blocks_as_lanes(cells in 1_usize..20, lanes in 1_usize..9, turn in 0_usize..9, seed: u64) {
        let mut been = vec![BTreeSet::new(); cells];
        for block in turn * lanes..(turn + 1) * lanes {
            let of = lanes_of_block(cells, lanes, block, seed);
            prop_assert_eq!(of.len(), cells);
            let count = |lane: usize| of.iter().filter(|has| **has == lane).count();
            let (least, most) = ((0..lanes).map(count).min().unwrap_or(0), (0..lanes).map(count).max().unwrap_or(0));
            prop_assert!(most - least <= 1, "no lane has two cells more than another");
            of.into_iter().enumerate().for_each(|(cell, lane)| { been[cell].insert(lane); });
        }
        prop_assert!(been.iter().all(|lanes_of_cell| lanes_of_cell.len() == lanes));
    }
}

fn slot(cell: &str, block: u32, position: u32, attempt: u32) -> Slot {
    let levels = IndexMap::from([("arm".to_owned(), cell.to_owned())]);
    Slot { purpose: Purpose::Measure, block, position, attempt, lane: 1, cell: Cell { levels, instrument: "none".into() } }
}

#[test]
fn padding_depends_on_the_place_and_not_on_the_cell_and_is_spread_evenly() {
    assert_eq!(padding_of(7, &slot("a", 3, 1, 1)), padding_of(7, &slot("b", 3, 1, 1)));
    let drawn: Vec<u32> = (1..=500).flat_map(|block| (1..=2).map(move |position| padding_of(7, &slot("a", block, position, 1)))).collect();
    assert!(drawn.iter().all(|length| u64::from(*length) < PADDING_BYTES));
    let different: BTreeSet<_> = drawn.iter().collect();
    assert!(different.len() > 800, "{} of 1000 differ", different.len());
    let mean = drawn.iter().map(|length| f64::from(*length)).sum::<f64>() / 1000.0;
    // The seed is fixed; a mean of a thousand draws has a standard deviation of 37.
    assert!((mean - 2047.5).abs() < 150.0, "{mean}");
    assert_ne!(padding_of(7, &slot("a", 3, 1, 1)), padding_of(7, &slot("a", 3, 1, 2)), "another attempt has its own");
    assert_ne!(padding_of(8, &slot("a", 3, 1, 1)), padding_of(7, &slot("a", 3, 1, 1)));
}

#[test]
fn the_draws_of_a_version_never_change() {
    // They are part of every record: a run that is taken up must go on with the same ones.
    assert_eq!([1, 2, 3].map(|block| seed_of_block(7, block)), SEEDS);
    assert_eq!([1, 2, 3].map(|block| padding_of(7, &slot("a", block, 1, 1))), PADDINGS);
    assert_eq!(williams::schedule(4, 4, 7), WILLIAMS);
    assert_eq!((0..4).map(|block| lanes_of_block(4, 2, block, 7)).collect::<Vec<_>>(), LANES);
}

// Computed once by an independent implementation of the documented algorithms.
const SEEDS: [u32; 3] = [930_997_222, 867_987_795, 1_425_113_880];
const PADDINGS: [u32; 3] = [1215, 465, 307];
const WILLIAMS: [[usize; 4]; 4] = [[1, 0, 3, 2], [3, 1, 2, 0], [0, 2, 1, 3], [2, 3, 0, 1]];
const LANES: [[usize; 4]; 4] = [[0, 0, 1, 1], [1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0]];

#[test]
fn the_rows_of_a_williams_plan_stay_whole_and_the_baseline_still_comes_before_the_first_edit() {
    for seed in 0..40 {
        let mut plan = plan(&["a", "b"], &["print"]);
        (plan.kind, plan.seed) = (bystander_lab::plan::Kind::Williams, Some(seed));
        (plan.blocks.min, plan.blocks.max, plan.describe) = (4, 4, true);
        let mut place = Scripted::new(|_, _| Ends::Completes);
        let (ledger, _) = run(&plan, &mut place);
        let mut rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for trial in ledger.trials.values().filter(|trial| trial.slot.purpose == Purpose::Measure) {
            let cell = plan.cells.iter().position(|cell| *cell == trial.slot.cell).expect("a cell of the plan");
            rows.entry(trial.slot.block).or_default().push(cell);
        }
        let rows: Vec<Vec<usize>> = rows.into_values().collect();
        assert!(neighbours(&rows).len() == 12 && neighbours(&rows).values().all(|count| *count == 1), "seed {seed}: {rows:?}");
        let launched = place.launched();
        let first = |cell: &str| launched.iter().position(|launched| launched == cell).expect("launched");
        assert!(first("a/none") < first("a/print").min(first("b/print")), "seed {seed}: {launched:?}");
    }
}
