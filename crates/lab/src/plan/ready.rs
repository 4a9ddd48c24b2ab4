//! The conditions of readiness, and by what a level's treatment is seen in the program.
//!
//! Records of older runs have one address and one pattern as plain texts; both are still read.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use super::Template;

/// How long everything must go on holding before a workload, which tests the program itself.
pub const STABLE: Duration = Duration::from_millis(250);
/// The same where nothing is asked of the program once it is ready: what dies of its first warm-up, or of a thread that it has just started, does so in
/// the first second or two.
pub const STABLE_ALONE: Duration = Duration::from_secs(2);

/// Conditions of readiness; all that are named must hold at the same time, and go on holding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// A GET on each address is answered as it should be by a process of this trial.
    #[serde(deserialize_with = "one_or_many")]
    pub http: Vec<HttpReady>,
    /// A line of output matches each pattern.
    #[serde(deserialize_with = "one_or_many")]
    pub log: Vec<String>,
    /// A process of this trial listens on this port.
    pub port: Option<Template>,
    /// This file is made or changed by the trial; relative to the working directory.
    pub file: Option<Template>,
    /// The program says so to `NOTIFY_SOCKET`.
    pub notify: bool,
    /// A command ends with exit code 0.
    pub command: Option<CommandReady>,
    /// An OpenAI-compatible server completes a prompt.
    pub generates: Option<GeneratesReady>,
    /// How long all of it must go on holding; where the file does not say, [`STABLE`], or [`STABLE_ALONE`] without a workload.
    pub stable: Option<Duration>,
}

impl Ready {
    /// Whether something is to be served. A program of which only its own word is asked may end well by itself once it has given it.
    #[must_use]
    pub fn serves(&self) -> bool {
        !self.http.is_empty() || self.port.is_some() || self.generates.is_some()
    }

    /// Every text with placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &Template> {
        let command = self.command.iter().flat_map(|command| &command.command);
        let generates =
            self.generates.iter().flat_map(|generates| [Some(&generates.url), Some(&generates.prompt), generates.model.as_ref()]);
        let http = self.http.iter().map(|http| &http.url);
        http.chain(&self.port).chain(&self.file).chain(command).chain(generates.flatten())
    }

    /// Every address that is asked, and the port on its own.
    pub fn addresses(&self) -> impl Iterator<Item = &Template> {
        self.http.iter().map(|http| &http.url).chain(self.generates.iter().map(|generates| &generates.url))
    }

    /// Each condition in words, in the order in which they cost more.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.log.iter().map(|pattern| format!("a line matches `{pattern}`")).collect();
        words.extend(self.notify.then(|| "it says READY=1".to_owned()));
        words.extend(self.file.as_ref().map(|file| format!("it makes or changes {}", file.0)));
        words.extend(self.port.as_ref().map(|port| format!("it listens on port {}", port.0)));
        words.extend(self.http.iter().map(HttpReady::words));
        words.extend(self.command.as_ref().map(|command| {
            let argv: Vec<&str> = command.command.iter().map(|word| word.0.as_str()).collect();
            format!("`{}` ends with exit code 0", argv.join(" "))
        }));
        words.extend(self.generates.as_ref().map(|generates| match &generates.model {
            Some(model) => format!("`{}` at {} completes a prompt", model.0, generates.url.0),
            None => format!("{} completes a prompt", generates.url.0),
        }));
        words.extend(self.stable.filter(|stable| !stable.is_zero()).map(|stable| format!("all of it for {} s", stable.as_secs_f64())));
        words
    }
}

/// An address and the answer that it must give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "HttpWritten")]
pub struct HttpReady {
    /// The address.
    pub url: Template,
    /// The statuses that count; where there is none, 200 to 399.
    pub status: Vec<u16>,
    /// What the body must match.
    pub body: Option<String>,
}

impl HttpReady {
    fn words(&self) -> String {
        let status: Vec<String> = self.status.iter().map(ToString::to_string).collect();
        let status = if status.is_empty() { String::new() } else { format!(" {}", status.join(" or ")) };
        let body = self.body.as_ref().map_or_else(String::new, |body| format!(" with a body that matches `{body}`"));
        format!("{} answers{status}{body}", self.url.0)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HttpWritten {
    Address(Template),
    Full {
        url: Template,
        #[serde(default)]
        status: Vec<u16>,
        #[serde(default)]
        body: Option<String>,
    },
}

impl From<HttpWritten> for HttpReady {
    fn from(written: HttpWritten) -> Self {
        match written {
            HttpWritten::Address(url) => Self { url, status: Vec::new(), body: None },
            HttpWritten::Full { url, status, body } => Self { url, status, body },
        }
    }
}

/// A command that finds out whether the program is ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandReady {
    /// Command and arguments.
    pub command: Vec<Template>,
    /// It is killed when it takes longer.
    pub timeout: Duration,
}

/// A server that must complete a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneratesReady {
    /// The server's address without `/v1`.
    pub url: Template,
    /// The name that it must serve; where it is not said, the only one that it serves.
    pub model: Option<Template>,
    /// What it is to complete.
    pub prompt: Template,
}

/// By what a level's treatment is seen in the program; all that are named must be seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Treatment {
    /// A line of the program's output matches this pattern.
    pub log: Option<String>,
    /// The effective configuration that the program prints matches this pattern.
    pub configuration: Option<String>,
}

/// Reads nothing, one or several.
fn one_or_many<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written<T> {
        Many(Vec<T>),
        One(T),
    }
    Ok(match Option::<Written<T>>::deserialize(from)? {
        None => Vec::new(),
        Some(Written::One(one)) => vec![one],
        Some(Written::Many(many)) => many,
    })
}

#[cfg(test)]
mod tests {
    use super::{HttpReady, Ready};
    use crate::plan::Template;

    #[test]
    fn conditions_of_older_records_are_read() {
        let old = r#"{"http":"http://127.0.0.1:{port}/health","log":"ready","port":null}"#;
        let ready: Ready = serde_json::from_str(old).expect("reads");
        let http = HttpReady { url: Template("http://127.0.0.1:{port}/health".into()), status: Vec::new(), body: None };
        assert_eq!(ready, Ready { http: vec![http], log: vec!["ready".into()], ..Ready::default() });
        let none: Ready = serde_json::from_str(r#"{"http":null,"log":null,"port":"80"}"#).expect("reads");
        assert_eq!((none.http.len(), none.log.len(), none.port), (0, 0, Some(Template("80".into()))));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let http = HttpReady { url: Template("http://h/".into()), status: vec![200, 204], body: Some("ok".into()) };
        let ready = Ready { http: vec![http], log: vec!["a".into(), "b".into()], notify: true, ..Ready::default() };
        let text = serde_json::to_string(&ready).expect("writes");
        assert_eq!(serde_json::from_str::<Ready>(&text).expect("reads"), ready);
    }
}
