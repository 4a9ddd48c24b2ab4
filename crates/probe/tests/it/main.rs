//! Integration tests: real interpreters, real scripts. One module a topic; every test runs on every Python that is found.

mod check;
mod delivery;
mod hostile;
mod in_process;
mod inserted;
mod left;
mod library;
mod list;
mod native;
mod orphans;
mod packs;
mod rings;
mod text;
mod tools;
mod wheels;
mod world;
