//! What the trial's own server says of itself, before and after the workload.
//!
//! Only addresses that a metric needs are asked, and those of the engine that built-in traffic goes to; any other program is left alone. Every answer is kept as a file in the trial's
//! folder, and every number says in which line of it it stands. What gives no answer costs its numbers, with the reason, and nothing else.

pub mod engine;
pub mod prometheus;
pub mod series;

use std::fs;
use std::path::{Path, PathBuf};

use bystander_lab::plan::{MetricSource, Plan, Template, When};
use bystander_model::chain::with_causes;
use bystander_model::engine::EngineReading;
use bystander_supervise::Trial;
use indexmap::IndexMap;
use serde_json::Value;

use self::engine::Moment;
use self::prometheus::Exposition;
use crate::secrets;

/// The folder of a trial in which answers are kept.
const FOLDER: &str = "http";

/// An answer that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) url: String,
    pub(crate) status: u16,
    pub(crate) text: String,
    /// Where it lies, below the trial's folder; `None` where it could not be written.
    pub(crate) file: Option<String>,
}

/// An answer, or why there is none.
pub(crate) type Asked = Result<Kept, String>;

/// The moment of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum At {
    /// The program is ready, and its workload has not begun.
    Before,
    /// The workload is over; without one, the program is ready.
    After,
}

/// The answers of one trial.
#[derive(Debug, Default)]
pub(crate) struct Scraper {
    /// Where Prometheus metrics are asked for, by metric; none for a metric of which nobody knows where.
    metrics: IndexMap<String, Option<String>>,
    /// Addresses asked for JSON or text after the workload.
    pages: Vec<String>,
    /// Where the engine's server is, when its figures are wanted.
    engine: Option<String>,
    before_is_wanted: bool,
    folder: PathBuf,
    hidden: Vec<String>,
    answers: IndexMap<(String, bool), Asked>,
    kept: u32,
}

impl Scraper {
    /// Finds out what will have to be asked.
    pub(crate) fn new(plan: &Plan, fill: &[(&str, &str)], folder: &Path, hidden: &[String]) -> Self {
        let base = base(plan, fill);
        let at = |path: &str| base.as_ref().map(|base| format!("{base}{path}"));
        let mut out = Self { folder: folder.to_owned(), hidden: hidden.to_vec(), ..Self::default() };
        for (name, metric) in &plan.metrics {
            match &metric.source {
                MetricSource::Http { url, .. } => out.pages.push(url.fill(fill)),
                MetricSource::Prometheus { url, when, .. } => {
                    let url = url.as_ref().map(|url| url.fill(fill)).or_else(|| at("/metrics"));
                    out.before_is_wanted |= *when != When::After;
                    out.metrics.insert(name.clone(), url);
                }
                MetricSource::Engine { .. } => {
                    out.engine.clone_from(&base);
                    out.before_is_wanted = true;
                }
                _ => {}
            }
        }
        // Whoever sends traffic to an engine wants to know what it did with it, whether a metric asks for it or not.
        if plan.workload.as_ref().is_some_and(|workload| workload.traffic.is_some()) {
            out.engine = base;
            out.before_is_wanted = true;
        }
        out.before_is_wanted &= plan.workload.is_some();
        out
    }

    /// The program is ready.
    pub(crate) fn ready(&mut self, trial: &Trial) {
        if self.before_is_wanted {
            self.ask_metrics(trial, At::Before);
        }
    }

    /// The server is warm: what it told before the warm-up is asked anew, so that the warm-up enters nothing.
    pub(crate) fn warmed(&mut self, trial: &Trial) {
        self.answers.retain(|(_, is_after), _| *is_after);
        self.ready(trial);
    }

    /// The workload is over, or there is none.
    pub(crate) fn worked(&mut self, trial: &Trial) {
        self.ask_metrics(trial, At::After);
        for url in std::mem::take(&mut self.pages) {
            self.ask(trial, &url, At::After);
            self.pages.push(url);
        }
    }

    fn ask_metrics(&mut self, trial: &Trial, at: At) {
        let urls: Vec<String> = self.metrics.values().flatten().cloned().collect();
        urls.iter().for_each(|url| self.ask(trial, url, at));
        let Some(base) = self.engine.clone() else { return };
        let metrics = format!("{base}/metrics");
        self.ask(trial, &metrics, at);
        // vLLM tells everything there, and would note the other address as an error in its log.
        let is_vllm = self.answer(&metrics, at).is_ok_and(|kept| kept.text.contains("vllm:"));
        for url in info_addresses(&base) {
            if is_vllm || self.server_info(&base, at).is_some() {
                break;
            }
            self.ask(trial, &url, at);
        }
    }

    /// Asks an address, once for each moment.
    fn ask(&mut self, trial: &Trial, url: &str, at: At) {
        let key = (url.to_owned(), at == At::After);
        if self.answers.contains_key(&key) {
            return;
        }
        let asked = match trial.ask(url) {
            Ok(answer) => Ok(self.keep(url, answer.status, &answer.body, at)),
            Err(error) => Err(secrets::blot(&format!("failed to {}", with_causes(&error)), &self.hidden).into_owned()),
        };
        self.answers.insert(key, asked);
    }

    fn keep(&mut self, url: &str, status: u16, body: &[u8], at: At) -> Kept {
        let text = secrets::blot(&String::from_utf8_lossy(body), &self.hidden).into_owned();
        self.kept += 1;
        let page: String = url
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
            .take(40)
            .collect();
        let moment = if at == At::Before { "before" } else { "after" };
        let file = format!("{FOLDER}/{}-{moment}-{page}", self.kept);
        let written = fs::create_dir_all(self.folder.join(FOLDER)).and_then(|()| fs::write(self.folder.join(&file), &text));
        Kept { url: secrets::blot(url, &self.hidden).into_owned(), status, text, file: written.is_ok().then_some(file) }
    }

    fn answer(&self, url: &str, at: At) -> Result<&Kept, String> {
        match self.answers.get(&(url.to_owned(), at == At::After)) {
            Some(asked) => asked.as_ref().map_err(Clone::clone),
            None => Err("nobody was asked: the program was not ready, or had ended".to_owned()),
        }
    }

    fn server_info(&self, base: &str, at: At) -> Option<Value> {
        info_addresses(base).iter().find_map(|url| {
            let kept = self.answer(url, at).ok().filter(|kept| kept.status == 200)?;
            serde_json::from_str::<Value>(&kept.text).ok().filter(Value::is_object)
        })
    }

    /// The answer of a page after the workload, where its status says that it is one.
    pub(crate) fn page(&self, url: &str) -> Asked {
        let kept = self.answer(url, At::After)?;
        if (200..300).contains(&kept.status) { Ok(kept.clone()) } else { Err(format!("{} answered {}", kept.url, kept.status)) }
    }

    /// The answers about a metric's series, before and after.
    pub(crate) fn metrics(&self, name: &str) -> [Asked; 2] {
        let Some(url) = self.metrics.get(name).cloned().flatten() else {
            let why = || Err("nothing says where the program's metrics are".to_owned());
            return [why(), why()];
        };
        [At::Before, At::After].map(|at| {
            let kept = self.answer(&url, at)?;
            if kept.status == 200 { Ok(kept.clone()) } else { Err(format!("{} answered {}", kept.url, kept.status)) }
        })
    }

    /// What the engine says of itself; `None` where nobody wanted to know.
    pub(crate) fn engine(&self) -> Option<EngineReading> {
        let base = self.engine.as_ref()?;
        let url = format!("{base}/metrics");
        let answers = [At::Before, At::After].map(|at| {
            self.answer(&url, at).and_then(|kept| match kept.status {
                200 => Ok(kept),
                404 => Err(format!("{url} answered 404: SGLang has it with `--enable-metrics` only")),
                status => Err(format!("{url} answered {status}")),
            })
        });
        let refused = answers.iter().find_map(|answer| answer.as_ref().err().cloned()).unwrap_or_default();
        let [before, after] = answers.map(|answer| answer.ok().map(|kept| Exposition::parse(&kept.text)));
        let [info_before, info_after] = [At::Before, At::After].map(|at| self.server_info(base, at));
        let moment = |metrics, info| Moment { metrics, info };
        let mut reading =
            engine::read(moment(before.as_ref(), info_before.as_ref()), moment(after.as_ref(), info_after.as_ref()), &refused);
        reading.asked = self
            .answers
            .iter()
            .filter(|(_, asked)| asked.is_ok())
            .map(|((url, _), _)| secrets::blot(url, &self.hidden).into_owned())
            .collect();
        reading.asked.sort();
        reading.asked.dedup();
        Some(reading)
    }
}

/// Where SGLang tells its state: the newer address first, since the older one is a warning in its log.
fn info_addresses(base: &str) -> [String; 2] {
    [format!("{base}/server_info"), format!("{base}/get_server_info")]
}

/// `http://HOST:PORT` of the program's server, by the conditions of its readiness, or else by where its traffic goes.
fn base(plan: &Plan, fill: &[(&str, &str)]) -> Option<String> {
    let ready = plan.program.ready.as_ref()?;
    let of_address = ready.addresses().find_map(|address| origin(&address.fill(fill)));
    let of_port = || ready.port.as_ref().map(|port| format!("http://127.0.0.1:{}", port.fill(fill).trim()));
    let traffic = || plan.workload.as_ref()?.traffic.as_ref();
    of_address.or_else(of_port).or_else(|| origin(&Template(traffic()?.url.clone()).fill(fill)))
}

/// An address without its path.
fn origin(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://")?;
    let host = rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())?;
    Some(format!("http://{host}"))
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn an_address_without_its_path_is_where_the_server_is() {
        assert_eq!(origin("http://127.0.0.1:8000/health?x=1").as_deref(), Some("http://127.0.0.1:8000"));
        assert_eq!(origin("http://[::1]:8000").as_deref(), Some("http://[::1]:8000"));
        assert_eq!((origin("https://x/"), origin("http:///x")), (None, None));
    }
}
