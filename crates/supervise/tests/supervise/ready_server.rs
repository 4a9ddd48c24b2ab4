//! Servers that look ready and are not: each says why, and becomes ready once it is.

use std::time::Duration;

use bystander_supervise::{GenerateCheck, HttpCheck, ReadySpec, Trial, TrialEvent, TrialSpec, pick_free_port};
use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt};

use crate::bench::{Told, World, is_ready, pattern, proof, wait_for, wait_unready};

const SERVER: &str = include_str!("servers/openai.py");

/// A trial of the server, on a port of its own.
fn server(world: &World, port: u16, ready: ReadySpec) -> TrialSpec {
    World::ready(world.spec(&["python3", "-c", SERVER, &port.to_string()]), ready)
}

fn generates(port: u16, model: Option<&str>) -> ReadySpec {
    let url = format!("http://127.0.0.1:{port}");
    let check = GenerateCheck { url, model: model.map(str::to_owned), prompt: "The capital of France is".to_owned() };
    ReadySpec { generates: Some(check), stable: Some(Duration::ZERO), ..ReadySpec::default() }
}

#[test]
fn a_server_is_ready_once_it_generates_and_not_by_its_status() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    world.write("mode", "lies");
    let mut trial = Trial::start(server(&world, port, generates(port, None))).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "shows no list of models: ok");
    for (mode, why) in
        [("empty", "generated nothing"), ("broken", "answered 500: {\"error\""), ("two", "shows several models, `tiny`, `other`")]
    {
        world.write("mode", mode);
        wait_unready(&mut trial, &mut events, why);
    }
    // Weights of chance give tokens that are no text.
    world.write("mode", "dummy");
    wait_for(&mut trial, &mut events, is_ready);
    let found = proof(&events);
    let made = found.generation.as_ref().expect("generates");
    assert_eq!((made.model.as_str(), made.text.as_str()), ("tiny", ""));
    assert!(made.tokens.is_some_and(|tokens| tokens > 0) && made.url.ends_with("/v1/completions"), "{made:?}");
    assert!(made.listener.pid.is_some_and(|pid| trial.contains(pid)));
    let levels = found.levels;
    assert!(levels.port <= levels.models && levels.models < levels.generation && levels.generation <= levels.stable, "{levels:?}");
    assert!(levels.port.is_some() && levels.models.is_some() && levels.health.is_none(), "{levels:?}");
    assert_eq!(trial.still_ready(), Ok(()));
}

#[test]
fn whichever_endpoint_answers_is_enough() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    world.write("mode", "chat");
    let mut trial = Trial::start(server(&world, port, generates(port, Some("tiny")))).expect("starts");
    let mut events = Vec::new();
    wait_for(&mut trial, &mut events, is_ready);
    let made = proof(&events).generation.as_ref().expect("generates");
    assert!(made.url.ends_with("/v1/chat/completions"));
    assert_eq!((made.text.as_str(), made.model.as_str()), ("Paris", "tiny"));
}

#[test]
fn a_model_that_is_not_served_is_never_asked_for() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let mut trial = Trial::start(server(&world, port, generates(port, Some("big")))).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "does not show `big`: it shows `tiny`");
    let asked = std::fs::read_to_string(world.path("asked")).expect("was asked");
    assert!(!asked.contains("completions"), "{asked}");
}

#[test]
fn a_completion_that_never_comes_keeps_nobody_from_ending_the_trial() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    world.write("mode", "hangs");
    let mut trial = Trial::start(server(&world, port, generates(port, None))).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "was asked for a completion, and has not answered yet");
    let told = Told::finish(&mut trial, Duration::ZERO, events);
    trial.close();
    assert!(told.finished.exit.is_some() && !told.events.iter().any(is_ready));
}

#[test]
fn status_and_body_of_every_address_must_be_as_named() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    world.write("mode", "ill");
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let health = HttpCheck { url: url("/health"), status: vec![200, 204], body: Some(pattern("state: (serving)")) };
    let models = HttpCheck { url: url("/v1/models"), status: Vec::new(), body: Some(pattern("\"tiny\"")) };
    let spec = ReadySpec { http: vec![models, health], stable: Some(Duration::ZERO), ..ReadySpec::default() };
    let mut trial = Trial::start(server(&world, port, spec)).expect("starts");
    let mut events = Vec::new();
    wait_unready(&mut trial, &mut events, "/health answered 503, and not 200 or 204");
    world.write("mode", "lies");
    wait_unready(&mut trial, &mut events, "/v1/models answered 200, and `body` does not match: ok");
    world.write("mode", "ok");
    wait_for(&mut trial, &mut events, is_ready);
    let matched: Vec<_> = proof(&events).http.iter().map(|answer| (answer.status, answer.matched.as_deref())).collect();
    assert_eq!(matched, [(200, Some("\"tiny\"")), (200, Some("state: serving"))]);
    world.write("mode", "ill");
    assert!(trial.still_ready().is_err_and(|lapse| lapse.why.contains("answered 503") && !lapse.silent));
}

#[test]
fn a_port_that_is_shared_with_a_stranger_is_not_the_programs() {
    let world = World::new();
    let port = pick_free_port().expect("a port");
    let foreign = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    sockopt::set_socket_reuseport(&foreign, true).expect("may be shared");
    bind(&foreign, &std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port)).expect("binds");
    listen(&foreign, 8).expect("listens");
    for http in [true, false] {
        let url = format!("http://127.0.0.1:{port}/health");
        let spec = ReadySpec {
            http: if http { vec![HttpCheck::any(url)] } else { Vec::new() },
            port: (!http).then_some(port),
            stable: Some(Duration::ZERO),
            ..ReadySpec::default()
        };
        let mut spec = server(&world, port, spec);
        spec.command.env.insert("SHARED".into(), "1".into());
        let mut trial = Trial::start(spec).expect("starts");
        let mut events = Vec::new();
        wait_unready(&mut trial, &mut events, &format!("somebody else listens on port {port} too"));
        if !events.iter().any(|event| matches!(event, TrialEvent::ForeignListener(_))) {
            wait_for(&mut trial, &mut events, |event| matches!(event, TrialEvent::ForeignListener(_)));
        }
        assert!(!events.iter().any(is_ready));
        let strangers = events.iter().find_map(|event| if let TrialEvent::ForeignListener(holder) = event { holder.pid } else { None });
        assert_eq!(strangers, Some(std::process::id()));
    }
    assert!(!world.path("asked").exists(), "nobody is asked where the answer may come from somebody else");
}
