//! What is typed: the command line as clap sees it. What it decides is up to the commands.

use std::ffi::OsString;
use std::path::PathBuf;

use bystander_model::probe::Delivery;
use clap::{Parser, Subcommand, ValueEnum};

mod memory_watch;

pub(crate) use memory_watch::MemoryWatchArgs;

/// Runs a program under controlled conditions, looks inside it without changing it, says what makes the difference, and proves that the looking
/// did not.
#[derive(Debug, Parser)]
#[command(
    name = "bystander",
    version,
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
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where a verb is carried out.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "On another machine")]
pub(crate) struct RemoteArgs {
    /// Do it on another machine, over SSH: `ssh://user@host[:port][/folder]`. For `run`, `watch`, `patch`, `memory` and `doctor`.
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) on: Option<OsString>,
    /// With --on, a configuration of SSH other than yours.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
    /// With --on, how long a command goes on there once nobody here has asked for it, such as `30m` (the default).
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) lease: Option<String>,
    /// With --on, never copy this executable there.
    #[arg(long, global = true)]
    pub(crate) no_upload: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or take up one that was stopped; print the table and the answers.
    Run(RunArgs),
    /// Run a command once with probes and print their hits as they come.
    Watch(WatchArgs),
    /// Print the results of a run, or of a watched command, again; or list the runs.
    Show(ShowArgs),
    /// Write everything of a run into one file that `show FILE` opens on another machine.
    Export(ExportArgs),
    /// Edits on disk that can be taken back.
    #[command(subcommand)]
    Patch(PatchCommand),
    /// Where the GPU memory of an engine goes.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Say what works on this machine, and how to mend what does not.
    Doctor(DoctorArgs),
}

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// The experiment file.
    pub(crate) file: PathBuf,
    /// Check everything and print the plan: launches, places, what it can and cannot decide. Nothing is launched.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Compare the baseline with itself instead, with every metric: whatever differs is made up by the pipeline. Exit code 0 where no more differences
    /// are found than chance explains, 2 where there are more.
    #[arg(long)]
    pub(crate) aa: bool,
    /// Start a new run, also where one could be taken up.
    #[arg(long)]
    pub(crate) new: bool,
    /// The seed of the order, for a run that is to be repeated in the same order.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print every trial with its evidence.
    #[arg(long)]
    pub(crate) why: bool,
    /// The path that the file counts as: a copy that another machine has sent.
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) counts_as: Option<PathBuf>,
}

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Runs a command once, in this environment and directory, with probes in every Python process of its tree, and prints each hit as it comes.\n\n\
A probe is written on one line:\n\
  PLACE [{EXPR, EXPR}] [if EXPR] [limit N[, RATE]] [more parts]\n\
where PLACE is `path/to/file.py:LINE`, `module:function`, `module:function@return` or `module:function@raise`; all parts are explained below:\n\
  app/sizing.py:42 {rest, total} if rest < 0\n\
  pkg.mod:Class.method@return {return, self.fraction} limit 100, 10/s\n\n\
Hits go to standard output; standard output and standard error of the command both go to standard error, as they are. With --output FILE hits go to the \
file, and the command keeps its own streams. A summary follows on standard error. Every hit is recorded before it is printed: `bystander show` \
prints all of it again.\n\n\
Ctrl-C (SIGINT) is passed on as it is, as are SIGTERM, SIGHUP and SIGQUIT; what is still there after 10 s, or at a second Ctrl-C, gets SIGKILL. Where nobody reads the hits any more, the command goes on and \
they are still recorded. A probe that cannot be placed is refused before anything is launched.",
    after_help = "The parts of a probe, after its place, in any order, each once:\n  \
PLACE                        path/to/file.py:LINE, or module:function with one of @entry (the default), @return, @raise\n  \
{EXPR, EXPR}                 what to capture; `return` is the value at @return, `raise` the exception at @raise\n  \
after \"PATTERN\"              right after the one statement that matches; `...` stands for anything\n  \
if EXPR                      record only where it holds; it never runs code of the program\n  \
limit N, limit N, RATE       at most N hits in each process, and no more than a RATE such as 10/s, 600/min or 5/h\n  \
rank EXPR                    what tells the rank of a process\n  \
unsafe                       captures may run code of the program\n  \
compiled break|skip|refuse   a function that a compiler takes over: put the probe in and break its graph, skip the compiler, or refuse (the default)\n  \
via auto|overlay|mount|patch how it gets in; `patch` is for `bystander patch apply` alone\n  \
as NAME                      its name in what is printed\n\n\
Exit codes: 0 the command ended with 0 and every probe was in place; 1 the command ended otherwise; 2 it ended with 0, but a probe was \
refused in a process or in place in none, so that its silence says nothing; 3 bad input, nothing was launched; 4 trouble of bystander itself; 130 interrupted."
)]
pub(crate) struct WatchArgs {
    /// A probe: a place, and what to capture there. Repeat it for more.
    #[arg(short = 'p', long = "probe", value_name = "PROBE")]
    pub(crate) probes: Vec<String>,
    /// A ready-made set of probes for an installed engine: `sglang-memory` or `vllm-memory`.
    #[arg(long = "pack", value_name = "NAME")]
    pub(crate) packs: Vec<String>,
    /// How probes get into the program, where they do not say it themselves with `via`.
    #[arg(long, value_enum, default_value_t = DeliveryWord::Auto, hide_possible_values = true, value_name = "auto|overlay|mount")]
    pub(crate) delivery: DeliveryWord,
    /// The number of hits to record in each process, for probes that name no limit [default: 1000]; hits beyond it are counted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Write the hits to a new file, a pipe or a device, and leave the command its own standard output and standard error.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print the places that a file, or a module, has for probes, and run nothing.
    #[arg(long, value_name = "FILE|MODULE", conflicts_with_all = ["probes", "packs", "output", "limit"])]
    pub(crate) list: Option<String>,
    /// With --list, print every line at which a statement begins, too.
    #[arg(long, requires = "list")]
    pub(crate) lines: bool,
    /// With --on, begin anew, also where the same command was begun there and its end was not told here.
    #[arg(long)]
    pub(crate) new: bool,
    /// The Python that the command starts in the end, where the command is neither one nor a script that names one.
    #[arg(long, value_name = "PYTHON")]
    pub(crate) python: Option<OsString>,
    /// The command with its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// How probes get into the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliveryWord {
    /// The least disturbing way that reaches it.
    Auto,
    /// By import in the process.
    Overlay,
    /// By a private mount.
    Mount,
}

impl From<DeliveryWord> for Delivery {
    fn from(word: DeliveryWord) -> Self {
        match word {
            DeliveryWord::Auto => Self::Auto,
            DeliveryWord::Overlay => Self::Overlay,
            DeliveryWord::Mount => Self::Mount,
        }
    }
}

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The run, by its id or the start of it, or the file that `export` wrote [default: the newest run].
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: Option<OsString>,
    /// Walk from the verdicts to the evidence: every answer with its rule and numbers, every trial with its lines. With the name of an answer, such as
    /// `factor:allreduce`, `instrument:print`, a part of a claim, a metric, `allreduce on speed` or a log of an earlier run, from that one alone.
    #[arg(long, num_args = 0..=1, value_name = "ANSWER")]
    pub(crate) why: Option<Option<String>>,
    /// Print what two trials differ in: command, environment, files, versions.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub(crate) diff: Option<Vec<u32>>,
    /// List every run of the state directory: id, when, how it stands, its first answer, its file.
    #[arg(long, conflicts_with_all = ["run", "why", "diff"])]
    pub(crate) list: bool,
}

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Writes everything of a run into one file, a tar compressed with zstd: its events, logs, environments, the experiment file, and the report as JSON and \
text. `bystander show FILE` opens it on any machine, without a state directory, and checks every hash; `tar --zstd -xf FILE` unpacks it.\n\n\
Secrets are in it as they are in the record: hashes under a key that never leaves this state directory. What is left out is told, and stands in manifest.json."
)]
pub(crate) struct ExportArgs {
    /// The run, by its id or the start of it [default: the newest].
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<OsString>,
    /// The file to write; there must be none of that name [default: RUN.tar.zst in the working directory].
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// The Python that engines are installed for, to see which sets of probes bind to them [default: python3].
    #[arg(long, value_name = "PYTHON")]
    pub(crate) python: Option<OsString>,
}

/// The verbs of `memory`.
#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Say where the memory of a server went, what failed first and which knob to turn, from its log.
    Explain(MemoryExplainArgs),
    /// Plan a start: bytes per token, weights, tokens, and which fractions work, by the rules of SGLang and of vLLM.
    Plan(Box<MemoryPlanArgs>),
    /// Watch the memory of GPUs, of processes and of the machine over time: of a command, of a process, or of all GPUs.
    Watch(Box<MemoryWatchArgs>),
}

/// Arguments of `memory explain`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Reads logs of SGLang and vLLM and says, for each start of each server: engine and version, how far it came, what failed first, where the \
memory of each rank went, how the KV cache was sized, and which knob to turn which way. Nothing is started.\n\n\
  memory explain server.log\n\
  kubectl logs engine-0 | bystander memory explain -\n\
  memory explain before.log after.log      what differs between the two\n\
  memory explain RUN                       every trial of a run\n\n\
Logs may be compressed (gzip, zstd), coloured, and carry the prefixes of Docker, Compose, Kubernetes and journald; servers that write into one log are told \
apart by these. A directory stands for the logs in it.",
    after_help = "Figures from a log are rounded there: they stand with the range that this leaves. What is not modelled is said to be not modelled.\n\n\
Exit codes: 0 a server was found and explained; 2 no line of an engine was found; 3 a log could not be read."
)]
pub(crate) struct MemoryExplainArgs {
    /// Logs: files, directories, `-` for standard input, or a run by its id.
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<OsString>,
    /// The card, such as `h100` or `96GiB`, where the log does not say it: memory that was taken before the start is then seen.
    #[arg(long, value_name = "GPU")]
    pub(crate) gpu: Option<String>,
    /// The KV cache that is wanted, such as `10GiB` or `10GB`: the fraction that gives it is told.
    #[arg(long, value_name = "SIZE")]
    pub(crate) want: Option<String>,
}

/// Arguments of `memory plan`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Says what a model needs on given cards before it is started: the architecture's own minimum, and what SGLang and vLLM make of it, \
each by the rules of a release. Nothing is started, and of weights only the headers are read.\n\n\
  memory plan ./Llama-3.1-70B --tp 8 --gpu h100\n\
  memory plan ./DeepSeek-V3/config.json --engine sglang --engine-version 0.5.9 --tp 8 --gpu h200\n\
  memory plan ./Qwen3-8B --gpu 80GiB -- python -m sglang.launch_server --model-path Qwen/Qwen3-8B --mem-fraction-static 0.85",
    after_help = "What is not known is said to be unknown. A figure with a range could not be told better before a start."
)]
pub(crate) struct MemoryPlanArgs {
    /// A folder with `config.json`, and with weights in safetensors where they are to be counted; or a `config.json` [default: the model of the command].
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// The engine whose column is wanted [default: both, or that of the command].
    #[arg(long, value_enum, value_name = "sglang|vllm", hide_possible_values = true)]
    pub(crate) engine: Option<EngineWord>,
    /// Its release, such as `0.5.9` [default: the newest whose rules are known].
    #[arg(long, value_name = "VERSION")]
    pub(crate) engine_version: Option<String>,
    /// Ranks that share each layer (tensor parallel).
    #[arg(long, visible_alias = "tensor-parallel-size", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) tp: Option<u64>,
    /// Stages that share the layers (pipeline parallel).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) pp: Option<u64>,
    /// Copies that share the requests (data parallel).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) dp: Option<u64>,
    /// Ranks that share out whole experts (expert parallel).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) ep: Option<u64>,
    /// Copies of attention share the ranks of `--tp`, as SGLang's `--enable-dp-attention` does.
    #[arg(long)]
    pub(crate) dp_attention: bool,
    /// The card: a name such as `h100` or `"RTX PRO 6000"`, or a size such as `96GiB`.
    #[arg(long, allow_hyphen_values = true, value_name = "NAME|SIZE")]
    pub(crate) gpu: Option<String>,
    /// What is free on each card before the weights, such as `79.5GiB`, where a log of the same machine says it.
    #[arg(long, allow_hyphen_values = true, value_name = "SIZE")]
    pub(crate) free: Option<String>,
    /// Tokens of the longest request: `131072`, or as vLLM writes it `128K` (of 1,024) or `128k` (of 1,000: 128,000) [default: the model's].
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) context: Option<u64>,
    /// Numbers of the KV cache: `auto`, `bfloat16`, `fp8`, `fp4`.
    #[arg(long, value_name = "KIND")]
    pub(crate) kv_dtype: Option<String>,
    /// The fraction: `mem_fraction_static`, `gpu_memory_utilization` [default: the engine's own].
    #[arg(long, allow_negative_numbers = true, value_name = "F")]
    pub(crate) fraction: Option<f64>,
    /// How further tokens are guessed: `mtp` for layers of the checkpoint, or the folder of a draft model.
    #[arg(long, value_name = "mtp|DRAFT")]
    pub(crate) speculative: Option<String>,
    /// Tokens that are guessed at once.
    #[arg(long, value_name = "N", requires = "speculative", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) draft_tokens: Option<u64>,
    /// Requests at once: `max_running_requests`, `max_num_seqs`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) requests: Option<u64>,
    /// Tokens of one prefill step: `chunked_prefill_size`, `max_num_batched_tokens`.
    #[arg(long, allow_negative_numbers = true, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) chunk: Option<u64>,
    /// Tokens of a page or block.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) page: Option<u64>,
    /// No CUDA graphs are captured (`--disable-cuda-graph`, `--enforce-eager`).
    #[arg(long)]
    pub(crate) no_graphs: bool,
    /// GPUs talk over PCIe alone, without NVLink.
    #[arg(long)]
    pub(crate) pcie: bool,
    /// The launch command, after `--`; options in front of it win.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// The most tokens that a request is planned with.
const MOST_TOKENS: u64 = 1_000_000_000;

/// Reads a number of tokens.
fn tokens(text: &str) -> Result<u64, String> {
    bystander_memory::plan::count::count(text)
        .filter(|tokens| *tokens <= MOST_TOKENS)
        .ok_or_else(|| "it is a number of tokens, such as 131072, or as vLLM writes it 128K (of 1,024) or 128k (of 1,000)".to_owned())
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// SGLang.
    Sglang,
    /// vLLM.
    Vllm,
}

/// The verbs of `patch`.
#[derive(Debug, Subcommand)]
pub(crate) enum PatchCommand {
    /// Put edits on disk that can be taken back: by exact text, by a pattern of code, or as probes.
    Apply(Box<PatchApplyArgs>),
    /// List every live edit of this user, from any folder, and those that this state directory undid. Exit code 1 where one is live.
    Status,
    /// Show each live edit as a unified diff.
    Diff {
        /// Ids as `status` prints them, their beginnings, or names [default: all].
        ids: Vec<String>,
    },
    /// Undo live edits: those named, or all of this state directory.
    Revert {
        /// Ids as `status` prints them or as they stand in the mark of an edit, their beginnings, or names [default: all of this state directory].
        ids: Vec<String>,
        /// Undo every live edit of this user, whatever state directory holds it.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
    /// Prove that nothing of an edit is left: bytes, metadata, marks anywhere in the tree, bytecode, journal. Exit code 1 where something is.
    Verify(PatchVerifyArgs),
    /// Print the hits that probes put in by `apply` have left so far.
    Hits {
        /// Ids as `status` prints them, their beginnings, or names [default: all].
        ids: Vec<String>,
    },
}

/// Arguments of `patch apply`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Puts edits on disk that can be taken back. All of them are made, or none; they stay until `patch revert` or `--expire`.\n\n\
  patch apply --file app.py --find 'rest = total - used' --insert-after 'print(rest)'\n\
  patch apply --file app.py --pattern 'rest = ...' --insert-after 'print(rest)' --expire 2h\n\
  patch apply 'app/sizing.py:42 {rest}'\n\n\
A text must be there exactly once; it may be of any bytes. A text to put in goes on the line of what was found wherever that means the same, so that line numbers hold; \
else it gets lines of its own, with the indent of the place. Where it begins with a blank or a punctuation mark it is put right there. A comment with \
a mark names the edit.\n\nIn a pattern, `$NAME` stands for one thing and `...` or `$$$` for any number; what `$NAME` stood for can be used in the text to put in.",
    group = clap::ArgGroup::new("what").args(["find", "find_file", "pattern"]),
    group = clap::ArgGroup::new("action").args(["replace", "replace_file", "insert_after", "insert_after_file", "insert_before", "insert_before_file"]),
)]
pub(crate) struct PatchApplyArgs {
    /// Probes to put into Python files: `path/to/file.py:LINE {EXPR, EXPR}` or `module:function {EXPR}`.
    #[arg(value_name = "PROBE", conflicts_with_all = ["file", "what", "action"])]
    pub(crate) probes: Vec<String>,
    /// A file to edit; repeat it to make the same edit in several.
    #[arg(long, value_name = "FILE", requires_all = ["what", "action"])]
    pub(crate) file: Vec<PathBuf>,
    /// The exact text to find; several lines are one text.
    #[arg(long, value_name = "TEXT", requires = "file")]
    pub(crate) find: Option<OsString>,
    /// A file with the exact text to find.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) find_file: Option<PathBuf>,
    /// Code with holes to find, in Python, Rust, C, C++, CUDA, JavaScript, TypeScript or Go.
    #[arg(long, value_name = "CODE", requires = "file")]
    pub(crate) pattern: Option<String>,
    /// The text to put in place of what was found; an empty one, `--replace ''`, takes it out.
    #[arg(long, value_name = "TEXT", requires = "file", allow_hyphen_values = true)]
    pub(crate) replace: Option<OsString>,
    /// A file with the text to put in place of what was found.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) replace_file: Option<PathBuf>,
    /// The text to put in after what was found.
    #[arg(long, value_name = "TEXT", requires = "file", allow_hyphen_values = true)]
    pub(crate) insert_after: Option<OsString>,
    /// A file with the text to put in after what was found.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) insert_after_file: Option<PathBuf>,
    /// The text to put in before what was found.
    #[arg(long, value_name = "TEXT", requires = "file", allow_hyphen_values = true)]
    pub(crate) insert_before: Option<OsString>,
    /// A file with the text to put in before what was found.
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(crate) insert_before_file: Option<PathBuf>,
    /// Edit every place that is found, not the only one.
    #[arg(long)]
    pub(crate) all_matches: bool,
    /// The language, where the name of the file does not tell it.
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// What begins a comment in a language that bystander does not know, so that the edit can be marked, such as `#`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// Put the text right beside what was found, whatever the line.
    #[arg(long)]
    pub(crate) inline: bool,
    /// Make the edit also where it leaves a syntax error.
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Take the edits back by themselves after this time, such as `2h`, `90s` or `1d`.
    #[arg(long, value_name = "TIME")]
    pub(crate) expire: Option<String>,
    /// A name for the edits.
    #[arg(long, value_name = "NAME", default_value = "patch")]
    pub(crate) name: String,
    /// The Python that will load the files that probes are put into [default: python3].
    #[arg(long, value_name = "PYTHON")]
    pub(crate) python: Option<PathBuf>,
    /// Show what would be done; nothing is written.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Arguments of `patch verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "As a check before every commit, in .git/hooks/pre-commit:\n  #!/bin/sh\n  exec bystander patch verify --staged")]
pub(crate) struct PatchVerifyArgs {
    /// Folders or files to search for marks [default: the folder of the state directory, or the working directory].
    pub(crate) paths: Vec<PathBuf>,
    /// Look only at what is staged for a git commit, as a check before it.
    #[arg(long, conflicts_with = "paths")]
    pub(crate) staged: bool,
    /// Also name calls of debuggers that were left in Python files: `breakpoint()`, `pdb.set_trace()`, `debugpy.listen()`.
    #[arg(long, conflicts_with = "staged")]
    pub(crate) strict: bool,
}
