//! The proof that an OpenAI-compatible server generates: its list shows the model, and a prompt comes back completed.
//!
//! A status of 200 alone proves nothing: an answer counts by its text or by the tokens that it says it has generated (weights of chance give tokens
//! without a text).

use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use super::address::{AddressError, HttpTarget};
use super::http::{self, Answer, Unanswered, shown};
use super::{GenerateCheck, Lapse};

/// Tokens to ask for: more than one, so that the steps after the first run too.
const TOKENS: u32 = 4;
/// How long a completion may take: the first one compiles kernels and captures graphs. The end of the program ends it at once.
const LIMIT: Duration = Duration::from_secs(600);

/// Where a prompt is completed.
#[derive(Debug, Clone, Copy)]
enum Endpoint {
    Completions,
    Chat,
}

impl Endpoint {
    /// The plain one first: it needs no template for chats.
    const ALL: [Self; 2] = [Self::Completions, Self::Chat];

    const fn path(self) -> &'static str {
        match self {
            Endpoint::Completions => "/v1/completions",
            Endpoint::Chat => "/v1/chat/completions",
        }
    }

    fn request(self, model: &str, prompt: &str) -> Value {
        match self {
            Endpoint::Completions => json!({ "model": model, "prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "stream": false }),
            Endpoint::Chat => {
                let messages = json!([{ "role": "user", "content": prompt }]);
                json!({ "model": model, "messages": messages, "max_tokens": TOKENS, "temperature": 0, "stream": false })
            }
        }
    }
}

/// A server to be asked.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) target: HttpTarget,
    /// The address without a path.
    base: String,
    model: Option<String>,
    prompt: String,
}

/// What a server has generated.
#[derive(Debug)]
pub(crate) struct Completion {
    pub(crate) url: String,
    pub(crate) text: String,
    pub(crate) tokens: Option<u64>,
}

impl Server {
    pub(crate) fn of(check: &GenerateCheck) -> Result<Self, AddressError> {
        let base = check.url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).trim_end_matches('/');
        let target = HttpTarget::parse(base)?;
        Ok(Self { target, base: base.to_owned(), model: check.model.clone(), prompt: check.prompt.clone() })
    }

    /// What is asked when it is asked for a completion.
    pub(crate) fn asking(&self) -> String {
        format!("{} was asked for a completion, and has not answered yet", self.base)
    }

    /// Whether it still says which models it serves.
    pub(crate) fn still_lists(&self, agent: &Agent) -> Result<(), Unanswered> {
        http::get(agent, &format!("{}/v1/models", self.base), false).map(drop)
    }

    /// The name to ask for: the expected one where it is served, else the only one that is.
    pub(crate) fn model(&self, agent: &Agent) -> Result<String, Lapse> {
        let url = format!("{}/v1/models", self.base);
        let answer = http::get(agent, &url, true)?;
        self.model_in(&url, &answer).map_err(Lapse::said)
    }

    fn model_in(&self, url: &str, answer: &Answer) -> Result<String, String> {
        if answer.status != 200 {
            return Err(format!("{url} answered {}", answer.status));
        }
        let served = served(answer).ok_or_else(|| format!("{url} answered 200, and shows no list of models: {}", answer.shown()))?;
        match (&self.model, served.as_slice()) {
            (Some(model), _) if served.contains(model) => Ok(model.clone()),
            (Some(model), []) => Err(format!("{url} does not show `{model}`: it shows no model")),
            (Some(model), _) => Err(format!("{url} does not show `{model}`: it shows {}", listed(&served))),
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(format!("{url} shows no model")),
            (None, _) => Err(format!("{url} shows several models, {}: name one with `model`", listed(&served))),
        }
    }

    /// Has a prompt completed, at whichever endpoint does it; `is_over` says that the program has ended meanwhile, and nobody is to be asked any more.
    pub(crate) fn complete(&self, agent: &Agent, model: &str, is_over: impl Fn() -> bool) -> Result<Completion, String> {
        let mut failed = Vec::new();
        for endpoint in Endpoint::ALL {
            if is_over() {
                failed.push("the program ended".to_owned());
                break;
            }
            match self.complete_at(endpoint, agent, model, LIMIT) {
                Ok(completion) => return Ok(completion),
                Err(lapse) => failed.push(lapse.why),
            }
        }
        Err(failed.join("; "))
    }

    /// Has a prompt completed within `limit` by a server that did so before: where it takes the question and says nothing, no other endpoint is asked.
    pub(crate) fn complete_again(&self, agent: &Agent, model: &str, limit: Duration) -> Result<Completion, Lapse> {
        let mut failed = Vec::new();
        for endpoint in Endpoint::ALL {
            match self.complete_at(endpoint, agent, model, limit) {
                Err(Lapse { why, silent: false }) => failed.push(why),
                decided => return decided,
            }
        }
        Err(Lapse::said(failed.join("; ")))
    }

    fn complete_at(&self, endpoint: Endpoint, agent: &Agent, model: &str, limit: Duration) -> Result<Completion, Lapse> {
        let url = format!("{}{}", self.base, endpoint.path());
        let answer = http::post(agent, &url, &endpoint.request(model, &self.prompt), limit)?;
        let (text, tokens) = generated(&url, &answer).map_err(Lapse::said)?;
        Ok(Completion { url, text, tokens })
    }
}

/// The names in a list of models.
fn served(answer: &Answer) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(&answer.body).ok()?;
    let models = list.get("data")?.as_array()?;
    Some(models.iter().filter_map(|model| model.get("id")?.as_str().map(str::to_owned)).collect())
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The text and the number of tokens of an answer; else why it is no completion.
fn generated(url: &str, answer: &Answer) -> Result<(String, Option<u64>), String> {
    if answer.status != 200 {
        return Err(format!("{url} answered {}: {}", answer.status, answer.shown()).trim_end_matches([':', ' ']).to_owned());
    }
    let no_json = |error: serde_json::Error| format!("{url} answered 200, and no JSON ({error}): {}", answer.shown());
    let body: Value = serde_json::from_slice(&answer.body).map_err(no_json)?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Err(format!("{url} answered 200, with an error: {}", shown(error.to_string().as_bytes())));
    }
    let Some(choice) = body.get("choices").and_then(|choices| choices.get(0)) else {
        return Err(format!("{url} answered 200, without a choice: {}", answer.shown()));
    };
    if let Some(reason @ ("abort" | "error")) = choice.get("finish_reason").and_then(Value::as_str) {
        return Err(format!("{url} answered 200, and the completion ended by `{reason}`"));
    }
    let text = text_of(choice);
    let tokens = body.pointer("/usage/completion_tokens").and_then(Value::as_u64);
    if text.is_empty() && tokens.unwrap_or(0) == 0 {
        return Err(format!("{url} answered 200, and generated nothing"));
    }
    Ok((shown(text.as_bytes()), tokens))
}

fn text_of(choice: &Value) -> &str {
    let places = ["/text", "/message/content", "/message/reasoning_content", "/message/reasoning"];
    places.iter().filter_map(|place| choice.pointer(place)?.as_str()).find(|text| !text.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{GenerateCheck, Server, generated, served};
    use crate::ready::http::Answer;

    fn told(status: u16, body: &str) -> Result<(String, Option<u64>), String> {
        generated("u", &Answer { status, body: body.as_bytes().to_vec() })
    }

    #[test]
    fn text_or_counted_tokens_are_a_completion() {
        assert_eq!(told(200, r#"{"choices":[{"text":" on\ntime"}]}"#), Ok(("on time".to_owned(), None)));
        assert_eq!(told(200, r#"{"choices":[{"text":""}],"usage":{"completion_tokens":8}}"#), Ok((String::new(), Some(8))));
        let thought = r#"{"choices":[{"message":{"content":null,"reasoning_content":"hm"}}],"usage":{"completion_tokens":1}}"#;
        assert_eq!(told(200, thought), Ok(("hm".to_owned(), Some(1))));
    }

    #[test]
    fn a_status_alone_is_none() {
        for (body, why) in [
            ("ok", "no JSON"),
            ("{}", "without a choice"),
            (r#"{"choices":[]}"#, "without a choice"),
            (r#"{"choices":[{"text":""}],"usage":{"completion_tokens":0}}"#, "generated nothing"),
            (r#"{"choices":[{"message":{"content":""}}]}"#, "generated nothing"),
            (r#"{"error":{"message":"CUDA error"},"choices":[{"text":"x"}]}"#, "with an error"),
            (r#"{"choices":[{"text":"x","finish_reason":"abort"}]}"#, "ended by `abort`"),
        ] {
            assert!(told(200, body).is_err_and(|told| told.contains(why)), "{body}: {:?}", told(200, body));
        }
        assert_eq!(told(500, ""), Err("u answered 500".to_owned()));
        assert_eq!(told(500, "Internal"), Err("u answered 500: Internal".to_owned()));
    }

    #[test]
    fn a_list_of_models_is_read_by_their_ids() {
        let names = |body: &str| served(&Answer { status: 200, body: body.as_bytes().to_vec() });
        assert_eq!(names(r#"{"object":"list","data":[{"id":"a"},{"id":"b"},{"name":"c"}]}"#), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(names("OK"), None);
        assert_eq!(names(r#"{"data":{}}"#), None);
    }

    #[test]
    fn the_address_may_end_in_the_version() {
        for url in ["http://127.0.0.1:8000", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1/"] {
            let check = GenerateCheck { url: url.to_owned(), model: None, prompt: "x".to_owned() };
            assert_eq!(Server::of(&check).expect("parses").base, "http://127.0.0.1:8000");
        }
    }
}
