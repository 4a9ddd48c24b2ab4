//! Conditions of readiness and treatments, as they reach the plan.

use std::path::Path;
use std::time::Duration;

use bystander_lab::plan::{CommandReady, GeneratesReady, HttpReady, Plan, Ready, Template, Treatment};
use bystander_lab::spec;

use crate::shown::FILE;

fn plan(text: &str) -> Plan {
    let checked = spec::parse(text, Path::new(FILE)).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(checked.warnings, []);
    checked.plan
}

fn ready(conditions: &str) -> Ready {
    let text = format!("program = {{ command = ['serve', '{{port}}'], ready = {{ {conditions} }} }}\nplan.describe = true");
    plan(&text).program.ready.expect("conditions")
}

fn template(text: &str) -> Template {
    Template(text.to_owned())
}

#[test]
fn every_condition_reaches_the_plan_and_is_told_in_words() {
    let found = ready(
        r#"log = ['up', 'warm'], port = "{port}", file = "{trial}/ready", notify = true, stable = "2s",
           http = ["http://127.0.0.1:{port}/", { url = "http://127.0.0.1:{port}/health", status = [200, 204], body = 'ok' }],
           command = { command = ["ask", "{port}"], timeout = "5s" }, generates = { model = "tiny", prompt = "Hi" }"#,
    );
    let http = |url: &str, status: &[u16], body: Option<&str>| HttpReady {
        url: template(url),
        status: status.to_vec(),
        body: body.map(str::to_owned),
    };
    let wanted = Ready {
        http: vec![http("http://127.0.0.1:{port}/", &[], None), http("http://127.0.0.1:{port}/health", &[200, 204], Some("ok"))],
        log: vec!["up".to_owned(), "warm".to_owned()],
        port: Some(template("{port}")),
        file: Some(template("{trial}/ready")),
        notify: true,
        command: Some(CommandReady { command: vec![template("ask"), template("{port}")], timeout: Duration::from_secs(5) }),
        generates: Some(GeneratesReady { url: template("http://127.0.0.1:{port}"), model: Some(template("tiny")), prompt: template("Hi") }),
        stable: Some(Duration::from_secs(2)),
    };
    assert_eq!(found, wanted);
    insta::assert_snapshot!(found.words().join("\n"), @r###"
    a line matches `up`
    a line matches `warm`
    it says READY=1
    it makes or changes {trial}/ready
    it listens on port {port}
    http://127.0.0.1:{port}/ answers
    http://127.0.0.1:{port}/health answers 200 or 204 with a body that matches `ok`
    `ask {port}` ends with exit code 0
    `tiny` at http://127.0.0.1:{port} completes a prompt
    all of it for 2 s
    "###);
}

#[test]
fn short_forms_mean_what_they_say() {
    let found = ready("http = { url = 'http://127.0.0.1:{port}/', status = 503 }, command = ['ask'], generates = true, stable = '0s'");
    assert_eq!(found.http[0].status, [503]);
    assert_eq!(found.command.map(|command| command.timeout), Some(Duration::from_secs(10)));
    let generates = found.generates.expect("asks for a completion");
    assert_eq!((generates.url.0.as_str(), generates.model), ("http://127.0.0.1:{port}", None));
    assert_eq!(found.stable, Some(Duration::ZERO));
    assert_eq!(ready("log = 'up'"), Ready { log: vec!["up".to_owned()], ..Ready::default() });
}

#[test]
fn a_port_that_only_a_completion_asks_at_is_told_to_nobody() {
    let text = "program = { command = ['serve'], ready = { generates = true } }\nplan.describe = true";
    let warnings = spec::parse(text, Path::new(FILE)).expect("a good file").warnings;
    assert_eq!(warnings.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(), ["spec.untold_port"]);
}

#[test]
fn treatments_are_of_their_level() {
    let text = "program.command = ['serve']\nplan.baseline = { mode = 'a' }\n[factors.mode]\na = {}\nb = { args = ['--b'], treatment = { log = 'b is on', configuration = 'b=True' } }";
    let levels = &plan(text).factors["mode"];
    assert_eq!(levels["a"].treatment, None);
    let wanted = Treatment { log: Some("b is on".to_owned()), configuration: Some("b=True".to_owned()) };
    assert_eq!(levels["b"].treatment.as_ref(), Some(&wanted));
}
