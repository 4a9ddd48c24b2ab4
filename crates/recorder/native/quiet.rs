//! Holding the garbage collector back for the length of a hit: a collection runs finalizers, which are code of the program.

use crate::interpreter::{free_collector, hold_collector};
use crate::shared::Shared;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Collector {
    Untouched,
    Held,
    WasOff,
}

static COLLECTOR: Shared<Collector> = Shared::new(Collector::Untouched);

/// Holds the collector back until the end of the hit; called before anything that the collector watches is made.
pub(crate) fn quiet() {
    if *COLLECTOR.get() == Collector::Untouched {
        COLLECTOR.set(if hold_collector() { Collector::Held } else { Collector::WasOff });
    }
}

/// Leaves the collector as the hit found it.
pub(crate) fn loud() {
    if *COLLECTOR.get() == Collector::Held {
        free_collector();
    }
    COLLECTOR.set(Collector::Untouched);
}
