//! Built-in traffic: what is asked of an OpenAI-compatible server, and what came of it.
//!
//! Times in a [`Summary`] are seconds. Latencies are those of requests that succeeded, so none of them says anything without the error rate beside
//! it: [`Summary::metric`] gives none for traffic that failed.

mod load;
mod metric;

pub use self::load::{Amount, Arrival, Endpoint, Load, Prompt};
pub use self::metric::{PREFIX, names};

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of one trial's traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How requests arrived, such as `8 at a time` or `10 a second, Poisson`.
    pub arrival: String,
    /// The model that was asked.
    pub model: String,
    /// Requests that were started, those of the warm-up apart, and those of `unfinished`.
    pub sent: u64,
    /// Requests whose answer was whole and had tokens in it.
    pub completed: u64,
    /// The others, by kind: `connect_refused`, `reset`, `timeout`, `status_503`, `error_in_stream`, `no_done`, `empty`, ….
    pub errors: IndexMap<String, u64>,
    /// What a few of them said, by kind.
    #[serde(default)]
    pub error_texts: IndexMap<String, String>,
    /// Requests that were under way when the traffic was stopped before its end: whether they would have failed is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Whether it was stopped before its end, as where the program ended under it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The share of requests that did not complete, from 0 to 1; it says nothing where none was sent.
    pub error_rate: f64,
    /// The share that was tolerated.
    pub tolerated: f64,
    /// Why the traffic as a whole failed; `None` where it passed.
    pub failure: Option<String>,
    /// Requests before the measured ones.
    pub warmup: Counts,
    /// Requests that went out again because the server had closed an idle connection.
    pub retried: u64,
    /// Seconds from the first intended start to the last answer.
    pub wall_s: f64,
    /// Completed requests a second of that.
    pub requests_per_s: f64,
    /// Output tokens of completed requests a second of that.
    pub tokens_per_s: f64,
    /// Output tokens of completed requests.
    pub output_tokens: u64,
    /// Who counted them: `usage` (the server), `chunks` (one for each chunk with output, where the server did not say), or `both`.
    pub tokens_from: String,
    /// Chunks with output.
    pub chunks: u64,
    /// Output tokens a chunk, where the server counted: more than one with speculative decoding.
    pub tokens_per_chunk: Option<f64>,
    /// Prompt tokens of completed requests as the server counted them.
    pub input_tokens: Option<u64>,
    /// Those of them that the server took from its prefix cache, where it says so.
    pub cached_tokens: Option<u64>,
    /// Seconds from the start to the first output; in an open loop from the intended start.
    pub ttft: Option<Spread>,
    /// Seconds between two chunks with output, of all requests: what their readers saw.
    pub itl: Option<Spread>,
    /// Seconds a token after the first chunk, one value a request.
    pub tpot: Option<Spread>,
    /// Seconds from the start to the end of the answer; in an open loop from the intended start.
    pub e2e: Option<Spread>,
    /// Seconds to set up a connection.
    pub connect: Option<Spread>,
    /// Seconds from the intended start to the actual one: how late the client was.
    pub client_lag: Option<Spread>,
    /// What the client itself took.
    pub client: Client,
    /// Whether the times settled, request by request; none where there were too few requests.
    #[serde(default)]
    pub courses: Vec<Course>,
    /// What is worth knowing of these numbers, in sentences.
    pub notes: Vec<String>,
    /// The folder with a histogram a latency (HdrHistogram V2, nanoseconds) and one line a request.
    #[serde(default)]
    pub folder: Option<std::path::PathBuf>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What became of a time from request to request, in the order in which they started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// Of which: `ttft` or `e2e`.
    pub of: String,
    /// `flat`, `warm_up` (it fell and stayed low), `slow_down` (it rose and stayed high) or `no_steady_state` (it changed within the last quarter).
    pub kind: String,
    /// The first request of the level that it ended on, about; `None` without one.
    pub settled_from: Option<u64>,
    /// Requests that were looked at.
    pub requests: u64,
}

/// How many requests, and what came of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Started.
    pub sent: u64,
    /// Answered with tokens.
    pub completed: u64,
    /// The others, by kind.
    pub errors: IndexMap<String, u64>,
}

/// Where values lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many there are.
    pub n: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// The greatest.
    pub max: f64,
}

/// What the client itself took, and how exact its clock was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Processor time of the client in the measured part, in seconds.
    pub cpu_s: f64,
    /// The same an output token, in microseconds.
    pub cpu_us_per_token: Option<f64>,
    /// Seconds that one round of its loop took, which is how late it can have seen what came meanwhile.
    pub clock_error: Option<Spread>,
    /// Whether it started requests so late that the load was not the one that was asked for.
    pub late: bool,
}
