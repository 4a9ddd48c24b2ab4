//! Logs explained: reported cases with their right answers, numbers to the digit, mixed and damaged input.

#[path = "explain/replay.rs"]
mod replay;

mod explain {
    mod carried;
    mod cases;
    mod compared;
    mod damaged;
    mod ledger;
    mod mutated;
    mod pasted;
    mod recomputed;
    mod story;
    mod varied;
}
