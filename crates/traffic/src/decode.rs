//! One event of a streamed answer: whether there is output in it, what the server counted, and whether it is an error.
//!
//! Text is looked at only for whether there is any; nothing of it is kept.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What an event says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The answer is over.
    Done,
    /// A piece of the answer.
    Chunk {
        /// Whether there is text, reasoning or a call of a tool in it.
        output: bool,
        /// Whether it may stand for tokens that show no text: a piece of an answer that does not merely open it.
        silent: bool,
        /// What the server counted so far.
        usage: Option<Usage>,
    },
    /// The server failed.
    Error(String),
    /// The server gave the answer up; its word for that.
    GivenUp(&'static str),
    /// It is no JSON object.
    Unreadable,
}

/// What a server counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Usage {
    /// Tokens of the prompt.
    #[serde(default, deserialize_with = "or_zero")]
    pub(crate) prompt_tokens: u64,
    /// Tokens of the answer.
    #[serde(default, deserialize_with = "or_zero")]
    pub(crate) completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl Usage {
    /// Tokens of the prompt that came from a cache, where the server says so.
    pub(crate) fn cached(&self) -> Option<u64> {
        self.prompt_tokens_details.and_then(|details| details.cached_tokens)
    }
}

fn or_zero<'de, D: de::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Option::<u64>::deserialize(from).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
struct Piece {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    text: Presence,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Finish,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    role: Presence,
    #[serde(default)]
    content: Presence,
    #[serde(default)]
    reasoning_content: Presence,
    #[serde(default)]
    reasoning: Presence,
    #[serde(default)]
    tool_calls: Presence,
}

/// Why an answer ended, as far as it says that the server gave it up: `abort` or `error`, as engines call it.
#[derive(Default)]
struct Finish(Option<&'static str>);

impl<'de> Deserialize<'de> for Finish {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Anything else than a text is none of these words.
        let word = serde_json::Value::deserialize(from)?;
        Ok(Self(["abort", "error"].into_iter().find(|known| word.as_str() == Some(known))))
    }
}

impl Choice {
    fn has_output(&self) -> bool {
        let of_delta = |delta: &Delta| {
            [&delta.content, &delta.reasoning_content, &delta.reasoning, &delta.tool_calls].into_iter().any(|value| value.0)
        };
        self.text.0 || self.delta.as_ref().is_some_and(of_delta)
    }

    fn opens(&self) -> bool {
        self.delta.as_ref().is_some_and(|delta| delta.role.0)
    }
}

/// Reads the data of an event.
pub(crate) fn decode(data: &[u8], is_error: bool) -> Said {
    let data = data.trim_ascii();
    if data == b"[DONE]" {
        return Said::Done;
    }
    let Ok(piece) = serde_json::from_slice::<Piece>(data) else {
        return if is_error { Said::Error(clip(data)) } else { Said::Unreadable };
    };
    if let Some(error) = piece.error {
        let text = error.get("message").and_then(|message| message.as_str()).map_or_else(|| error.to_string(), str::to_owned);
        return Said::Error(clip(text.as_bytes()));
    }
    if is_error {
        return Said::Error(clip(data));
    }
    let choices = piece.choices.unwrap_or_default();
    if let Some(word) = choices.iter().find_map(|choice| choice.finish_reason.0) {
        return Said::GivenUp(word);
    }
    let output = choices.iter().any(Choice::has_output);
    let silent = !output && choices.iter().any(|choice| !choice.opens());
    Said::Chunk { output, silent, usage: piece.usage }
}

/// What a server said, in one line that a report can hold.
pub(crate) fn clip(bytes: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).collect()
}

/// Whether there is something: a text that is not empty, a list with something in it, an object.
#[derive(Default)]
struct Presence(bool);

impl<'de> Deserialize<'de> for Presence {
    fn deserialize<D: de::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Presence;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Presence, E> {
        Ok(Presence(!text.is_empty()))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Presence, E> {
        Ok(Presence(false))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Presence, E> {
        Ok(Presence(value))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Presence, E> {
        Ok(Presence(true))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Presence, E> {
        Ok(Presence(true))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Presence, E> {
        Ok(Presence(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Presence, A::Error> {
        let mut any = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Presence(any))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Presence, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Presence(true))
    }
}

#[cfg(test)]
mod tests {
    use super::{Said, Usage, decode};

    fn chunk(text: &str) -> (bool, bool, Option<Usage>) {
        match decode(text.as_bytes(), false) {
            Said::Chunk { output, silent, usage } => (output, silent, usage),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn an_answer_that_the_server_gives_up_is_told_from_one_that_ends() {
        for word in ["abort", "error"] {
            let text = format!(r#"{{"choices":[{{"delta":{{"content":"a"}},"finish_reason":"{word}"}}]}}"#);
            assert_eq!(decode(text.as_bytes(), false), Said::GivenUp(word));
        }
        for good in [r#""stop""#, r#""length""#, "null", r#"{"type":"abort"}"#] {
            let text = format!(r#"{{"choices":[{{"text":"a","finish_reason":{good}}}]}}"#);
            assert_eq!(chunk(&text), (true, false, None), "{good}");
        }
    }

    #[test]
    fn output_is_text_reasoning_or_a_call_in_either_interface() {
        for text in [
            r#"{"choices":[{"text":"a"}]}"#,
            r#"{"choices":[{"text":"\n"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}]}"#,
            r#"{"choices":[{"delta":{"role":"assistant","content":"a"}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":"hm"}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}"#,
            r#"{"choices":[{"delta":{"content":""}},{"delta":{"content":"b"}}]}"#,
        ] {
            assert_eq!(chunk(text), (true, false, None), "{text}");
        }
    }

    #[test]
    fn chunks_without_text_are_told_from_those_that_open_or_count() {
        assert_eq!(chunk(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#), (false, false, None));
        assert_eq!(chunk(r#"{"choices":[{"delta":{"content":""}}]}"#), (false, true, None));
        assert_eq!(chunk(r#"{"choices":[{"text":"","finish_reason":null}],"usage":null}"#), (false, true, None));
        let counted =
            chunk(r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":2}}}"#);
        assert_eq!((counted.0, counted.1), (false, false));
        let usage = counted.2.expect("usage");
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.cached()), (3, 8, Some(2)));
        assert_eq!(chunk(r#"{"choices":null,"usage":{"prompt_tokens":3,"completion_tokens":null}}"#).2.expect("usage").cached(), None);
    }

    #[test]
    fn ends_errors_and_rubbish_are_told_apart() {
        assert_eq!(decode(b"[DONE]", false), Said::Done);
        assert_eq!(decode(b" [DONE] ", false), Said::Done);
        assert_eq!(decode(br#"{"error":{"message":"no memory","code":500}}"#, false), Said::Error("no memory".into()));
        assert_eq!(decode(br#"{"error":"gone"}"#, false), Said::Error("\"gone\"".into()));
        assert_eq!(decode(b"boom", true), Said::Error("boom".into()));
        for rubbish in ["", "boom", "[1]", "{", r#"{"choices":[{"delta":3}]}"#, "\u{0}"] {
            assert_eq!(decode(rubbish.as_bytes(), false), Said::Unreadable, "{rubbish}");
        }
    }
}
