//! The load against servers that play a script, and the parsers against bytes in any order.
#![forbid(unsafe_code)]

mod answers;
mod asked;
mod faults;
mod hostile;
mod open_loop;
mod parsers;
mod stopped;
