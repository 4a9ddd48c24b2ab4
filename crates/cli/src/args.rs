//! What is typed: the command line as clap sees it. What it decides is up to the commands.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Runs a program under controlled conditions, looks inside it without changing it, says what makes the difference, and proves that the looking
/// did not.
#[derive(Debug, Parser)]
#[command(
    name = "bystander",
    version,
    about,
    max_term_width = 110,
    after_help = "Exit codes: 0 answered; 1 answered, and something failed that `expect` declared to work; 2 undetermined; \
3 bad input or usage; 4 trouble of bystander itself; 130 interrupted."
)]
pub(crate) struct Args {
    /// Prints one JSON object on standard output; everything else goes to standard error.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The state directory [default: `.bystander` beside the experiment file, or in the working directory].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or take up one that was stopped; print the table and the answers.
    Run(RunArgs),
    /// Print the results of a run again.
    Show(ShowArgs),
    /// Edits on disk that can be taken back.
    #[command(subcommand)]
    Patch(PatchCommand),
    /// Say what works on this machine, and how to mend what does not.
    Doctor,
}

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The experiment file.
    pub(crate) file: PathBuf,
    /// Check everything and print the plan: launches, places, what it can and cannot decide. Nothing is launched.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start a new run, also where one could be taken up.
    #[arg(long)]
    pub(crate) new: bool,
    /// The seed of the order, for a run that is to be repeated in the same order.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print every trial with its evidence.
    #[arg(long)]
    pub(crate) why: bool,
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The run, by its id or the start of it [default: the newest].
    pub(crate) run: Option<String>,
    /// Print every trial with its evidence.
    #[arg(long)]
    pub(crate) why: bool,
    /// Print what two trials differ in: command, environment, files, versions.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub(crate) diff: Option<Vec<u32>>,
}

/// The verbs of `patch`.
#[derive(Debug, Subcommand)]
pub(crate) enum PatchCommand {
    /// List every live edit of this user, from any folder, and those that this state directory undid.
    Status,
    /// Undo live edits: those named, or all of this state directory.
    Revert {
        /// Ids as `status` prints them [default: all].
        ids: Vec<String>,
    },
    /// Check that nothing of an edit is left: bytes, metadata, bytecode, journal.
    Verify,
}
