//! Why a trial ended: tracebacks of real interpreters and of logs, signatures, blame, outcomes.

#[path = "cause_tests/feed.rs"]
mod feed;
#[path = "cause_tests/pythons.rs"]
mod pythons;

mod cause_tests {
    mod blame;
    mod corpus;
    mod fates;
    mod hangs;
    mod logs;
    mod order;
    mod outcomes;
    mod parts;
    mod readers;
    mod reports;
    mod robust;
    mod wrappers;
}
