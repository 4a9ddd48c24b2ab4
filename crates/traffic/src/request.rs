//! Requests as bytes. What is the same in all of them is written once.

use bystander_model::traffic::Load;
use serde_json::{Map, Value, json};

use crate::address::Address;
use crate::prompts::Prompts;

/// Makes the bytes of requests.
#[derive(Debug)]
pub(crate) struct Requests {
    prompts: Prompts,
    /// Everything up to the length of the body.
    head: String,
    /// The rest of the body after the prompt, with and without the wish for usage.
    with_usage: String,
    without_usage: String,
    /// Whether usage is asked for.
    pub(crate) asks_usage: bool,
}

impl Requests {
    pub(crate) fn new(load: &Load, model: &str, address: &Address, key: Option<&str>, prompts: Prompts) -> Self {
        let key = key.map_or_else(String::new, |key| format!("Authorization: Bearer {key}\r\n"));
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: bystander/{}\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n\
             Content-Type: application/json\r\n{key}Content-Length: ",
            address.target(load.endpoint),
            env!("CARGO_PKG_VERSION"),
        );
        let mut body = Map::new();
        body.insert("model".into(), model.into());
        body.insert("max_tokens".into(), load.output_tokens.into());
        body.insert("stream".into(), true.into());
        if load.ignore_eos {
            body.insert("ignore_eos".into(), true.into());
        }
        let mut asking = body.clone();
        asking.insert("stream_options".into(), json!({ "include_usage": true }));
        let rest = |mut body: Map<String, Value>| {
            body.extend(load.body.clone());
            let text = Value::Object(body).to_string();
            // The prompt takes the place of the opening brace.
            format!(",{}", &text[1..])
        };
        Self { prompts, head, with_usage: rest(asking), without_usage: rest(body), asks_usage: true }
    }

    /// The bytes of a request, by its number.
    pub(crate) fn bytes(&self, number: u64) -> Vec<u8> {
        let fragment = self.prompts.fragment(number);
        let rest = if self.asks_usage { &self.with_usage } else { &self.without_usage };
        let length = 1 + fragment.len() + rest.len();
        format!("{}{length}\r\n\r\n{{{fragment}{rest}", self.head).into_bytes()
    }

    /// How many different prompts there are; `None` for no end of them.
    pub(crate) fn different(&self) -> Option<usize> {
        self.prompts.len()
    }
}
