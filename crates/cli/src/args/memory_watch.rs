//! Arguments of `memory watch`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The least time between two samples: the driver itself has nothing newer more often.
const LEAST: Duration = Duration::from_millis(5);
/// The most.
const MOST: Duration = Duration::from_secs(3600);

/// Arguments of `memory watch`.
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Watches memory over time: what each GPU holds and by which processes, the resident memory of the processes watched, and what is left to the machine; \
on one time axis with the phases that the log of an engine shows.\n\n\
  memory watch -- python3 -m sglang.launch_server --model-path M   runs the command and watches everything below it\n\
  memory watch 4711                                                watches a process that is there, and everything below it\n\
  memory watch                                                     watches every GPU of this machine and whoever is on it\n\n\
It ends with the command or the process, at Ctrl-C, or after --for, and then prints a chart and a summary: the peak of each GPU and process, the phase in which it came, \
and what it fell to. Standard output and standard error of the command both go to standard error as they come; what is printed goes to standard output. \
Without an NVIDIA driver it says so and shows the memory of the host.\n\n\
Of a command that is run, Ctrl-C (SIGINT) is passed on as it is, as are SIGTERM, SIGHUP and SIGQUIT; what is still there after 10 s, or at a second Ctrl-C, gets SIGKILL. \
What rises and falls between two samples is not seen.",
    after_help = "Exit codes: 0 the command ended with 0, the process ended, or the time of --for is over; 1 the command ended otherwise; \
3 bad input, nothing was launched; 4 trouble of bystander itself; 130 interrupted."
)]
pub(crate) struct MemoryWatchArgs {
    /// A process that is there [default: every GPU of this machine].
    #[arg(value_name = "PID", conflicts_with = "command", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// The time between two samples.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = interval)]
    pub(crate) interval: Duration,
    /// Stop to watch after this time, such as `30s` or `2h`. Of a command that still runs then, only the watching ends: it is ended as by Ctrl-C.
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub(crate) span: Option<Duration>,
    /// Write every sample to a new file, a pipe or a device: as CSV where its name ends in `.csv`, else as JSON, one sample a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The command with its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = span(text)?;
    if (LEAST..=MOST).contains(&interval) { Ok(interval) } else { Err("must be between 5ms and 1h".to_owned()) }
}

fn span(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_odd: jiff::Error| "a time is written such as `100ms`, `30s` or `1h30m`".to_owned())?;
    Duration::try_from(span).ok().filter(|span| !span.is_zero()).ok_or_else(|| "must be longer than nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{interval, span};

    #[test]
    fn times_are_read_as_people_write_them_and_odd_ones_are_refused() {
        assert_eq!((interval("100ms"), span("1h30m")), (Ok(Duration::from_millis(100)), Ok(Duration::from_secs(5400))));
        assert_eq!(interval("1s"), Ok(Duration::from_secs(1)));
        for odd in ["", "fast", "-1s", "0s", "5", "1ms", "2h"] {
            assert!(interval(odd).is_err(), "{odd:?}");
        }
    }
}
