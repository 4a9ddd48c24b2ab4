//! Integration tests: real interpreters, real scripts. One module a topic; every test runs on every Python that is found.

mod check;
mod delivery;
mod in_process;
mod inserted;
mod rings;
mod tools;
mod world;
