//! Pythons that a covered process started, or became, out of the overlay's sight: who started them wrote down why.
//!
//! A sample of the processes may miss them, because they can be gone in milliseconds.

use std::collections::BTreeMap;

use bystander_model::hit::{Receipt, ReceiptState};

use crate::marshal::Data;
use crate::process::Process;
use crate::value::{int_of, text_of};

/// One program start that the overlay did not follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) pid: u32,
    /// Just before the start, by the clock that names records.
    pub(crate) since_ns: i64,
    reason: String,
    title: String,
}

impl Left {
    /// Reads the fields of the event `("left", pid, since, reason, title)` after its name; `None` where it is no such event.
    pub(crate) fn read(mut fields: impl Iterator<Item = Data>) -> Option<Self> {
        let pid = u32::try_from(int_of(&fields.next()?)?).ok()?;
        let since_ns = int_of(&fields.next()?)?;
        Some(Self { pid, since_ns, reason: text_of(fields.next()?)?, title: text_of(fields.next()?)? })
    }

    /// True where the program did load the overlay after all, such as through a `.pth` file.
    fn came_back(&self, processes: &[Process]) -> bool {
        processes.iter().any(|process| process.pid == self.pid && !process.is_forked && process.began_ns >= self.since_ns)
    }

    fn detail(&self) -> String {
        let reason = match self.reason.as_str() {
            "-S" => "-S keeps `site`, and so the overlay, from running",
            "-I" => "-I hides the environment from it",
            "-E" => "-E hides the environment from it",
            _ => "it was started with an environment that does not name the overlay",
        };
        format!("{}: {reason}", self.title)
    }
}

/// Adds receipts for what left; where a process recorded hits before it became another program, its receipt stays and says so.
pub(crate) fn account(processes: &[Process], probes: &[&str], receipts: &mut BTreeMap<(u32, usize), Receipt>) {
    let left = processes.iter().flat_map(|process| &process.left).filter(|left| !left.came_back(processes));
    for left in left {
        for (index, probe) in probes.iter().enumerate() {
            let uncovered = Receipt::uncovered(left.pid, *probe, left.detail());
            receipts.entry((left.pid, index)).and_modify(|known| add(known, &uncovered)).or_insert(uncovered);
        }
    }
}

fn add(known: &mut Receipt, uncovered: &Receipt) {
    match known.state {
        ReceiptState::Armed | ReceiptState::Expired | ReceiptState::Paused => {
            let said = [known.detail.take(), uncovered.detail.as_ref().map(|detail| format!("later uncovered: {detail}"))];
            known.detail = Some(said.into_iter().flatten().collect::<Vec<_>>().join(", "));
        }
        _ => *known = Receipt { rank: known.rank, ..uncovered.clone() },
    }
}
