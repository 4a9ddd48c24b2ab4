//! The places of a file: its functions first, for they fit one screen; its lines where they are asked for.

use bystander_model::FORMAT;
use bystander_model::probe::Moment;
use bystander_probe::{Choice, FilePlaces, FunctionPlaces};
use bystander_report::count;
use serde_json::{Value, json};

/// The places as text; `lines` adds every line at which a statement begins.
pub(super) fn text(places: &FilePlaces, lines: bool) -> String {
    let mut text = format!(
        "{} (Python {}): {}, {}\n",
        places.path.display(),
        places.python,
        count(places.functions.len(), "function", "functions"),
        count(places.lines.len(), "line", "lines")
    );
    if !places.functions.is_empty() {
        text.push_str("functions, as MODULE:NAME, MODULE:NAME@return, MODULE:NAME@raise\n");
    }
    let width = places.functions.iter().map(|function| function.name.chars().count()).max().unwrap_or(0).min(60);
    for function in &places.functions {
        let last = function.last_line.unwrap_or(function.line);
        text.push_str(&format!("  {:<width$}  {:>5}\u{2013}{:<5}{}\n", function.name, function.line, last, remarks(function)));
    }
    if !lines {
        text.push_str("lines, as FILE:LINE: --lines lists them\n");
        return text;
    }
    text.push_str("lines, as FILE:LINE\n");
    let source = std::fs::read(&places.path).unwrap_or_default();
    let source: Vec<String> = String::from_utf8_lossy(&source).lines().map(|line| line.trim().to_owned()).collect();
    let chosen = places.lines.iter().map(|line| line.chosen.chars().count()).max().unwrap_or(0).min(40);
    for line in &places.lines {
        let statement = line.line.checked_sub(1).and_then(|at| source.get(usize::try_from(at).ok()?)).map_or("", String::as_str);
        let compiled = line.compiled.as_ref().map_or_else(String::new, |by| format!("  [taken over by {by}]"));
        let shown: String = statement.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect();
        text.push_str(&format!("  {:>5}  {:<chosen$}  {shown}{compiled}\n", line.line, line.chosen));
    }
    text
}

/// What cannot be probed of a function, and why.
fn remarks(function: &FunctionPlaces) -> String {
    let mut said = String::new();
    if function.statement != "def" {
        said.push_str(&format!("  {}", function.statement));
    }
    for (word, moment) in Moment::WORDS {
        if let Choice::Refused(why) = function.at(moment) {
            said.push_str(&format!("  no {word}: {why}"));
        }
    }
    if let Some(compiled) = &function.compiled {
        let ways: Vec<&str> = compiled.effects.keys().map(String::as_str).collect();
        let ways = if ways.is_empty() { "cannot be probed".to_owned() } else { format!("needs `compiled {}`", ways.join("|")) };
        said.push_str(&format!("  taken over by {} ({}): {ways}", compiled.decorator, compiled.line));
    }
    said
}

/// The places as JSON.
pub(super) fn json(places: &FilePlaces) -> Value {
    let moment = |function: &FunctionPlaces, moment| match function.at(moment) {
        Choice::Chosen(place) => json!({ "place": place }),
        Choice::Refused(why) => json!({ "refused": why }),
    };
    let functions = places.functions.iter().map(|function| {
        let compiled = function.compiled.as_ref().map(|by| json!({ "by": by.decorator, "line": by.line, "effects": by.effects }));
        json!({
            "name": function.name, "line": function.line, "last_line": function.last_line, "statement": function.statement,
            "entry": moment(function, Moment::Entry), "return": moment(function, Moment::Return), "raise": moment(function, Moment::Raise),
            "compiled": compiled,
        })
    });
    let lines = places.lines.iter().map(|line| {
        json!({
            "line": line.line, "at": line.at, "statement": line.statement, "side": line.side, "chosen": line.chosen, "function": line.scope,
            "compiled": line.compiled,
        })
    });
    json!({
        "format": FORMAT, "file": places.path.to_string_lossy(), "python": places.python, "sha256": places.sha256,
        "functions": functions.collect::<Vec<_>>(), "lines": lines.collect::<Vec<_>>(),
    })
}
