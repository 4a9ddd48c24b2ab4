//! The command from outside: real experiments on real processes, what they answer, and what they leave behind.

mod bad_file;
mod bad_machine;
mod broken_print;
mod disk;
mod drifted;
mod fast;
mod fixed;
mod interrupted;
mod keeper;
mod killed;
mod mounted;
mod no_trace;
mod outcomes;
mod patch;
mod patch_apply;
mod patch_bad;
mod patch_build;
mod patch_expire;
mod patch_staged;
mod provenance;
mod resume;
mod secrets;
mod show;
mod story;
mod world;
