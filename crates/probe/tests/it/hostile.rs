//! Objects that count every entry into their own code, seen by whatever recorder each Python takes: none is entered.

use bystander_model::hit::ReceiptState;
use bystander_probe::ProbeSpec;

use crate::world::{World, on_each, probe};

const HOSTILE: &str = include_str!("programs/hostile.py");
const CAPTURES: [&[&str]; 5] = [
    &["v", "v.x", "v.name", "v.shape", "v.__dict__", "v.__class__", "v.__doc__", "v.value"],
    &["v['x']", "v[1]", "v[0]", "v[-1]", "v[True]", "v[0.5]", "v[None]", "v[b'x']"],
    &["len(v)", "not v", "v and 1", "v or 1", "v == 1", "v == 'x'", "1 != v", "v is None"],
    &["v + 1", "1 + v", "v - v", "v * 2", "v / 2", "v // 2", "v % 2", "-v", "+v", "v < v", "1 < v < 3"],
    &["v.x.y", "v.x['x']", "v['x'].x", "len(v.x)", "v['x'] == v[0]", "v.args", "v.dtype", "v._name_"],
];
const CONDITIONS: [&str; 6] = ["v == 1 or v", "v.x", "not v", "v['x'] and v[0]", "len(v) > 0", "-v < 1"];

fn run(world: &World, specs: &[ProbeSpec]) -> crate::world::Run {
    let run = world.run(&world.checked(specs), &["hostile.py"]);
    let text = run.stdout();
    assert!(run.output.status.success() && text.ends_with(" []\n"), "3.{} {specs:?}: {text} {}", world.python.minor, run.stderr());
    run
}

#[test]
fn no_recorder_enters_code_of_the_program() {
    on_each(|python| {
        let world = World::new(python, &[("hostile.py", HOSTILE)]);
        for capture in CAPTURES {
            let found = run(&world, &[probe("hostile:look", Some("w = 1"), capture)]);
            assert!(found.hits.len() >= 50, "3.{} {capture:?}", python.minor);
            assert_eq!(found.receipts[0].dropped, Some(0));
        }
        for condition in CONDITIONS {
            let spec = ProbeSpec { condition: Some(condition.into()), ..probe("hostile:look", None, &["v"]) };
            let found = run(&world, &[spec]);
            assert_eq!(found.hits.len() as u64, found.receipts[0].hits.expect("counted"), "3.{} {condition}", python.minor);
        }
        let returned = probe("hostile:give@return", None, &["return", "return.x", "return['x']", "len(return)", "return == 1"]);
        let raised = ProbeSpec { name: "raised".into(), ..probe("hostile:fail@raise", None, &["raise", "raise.args", "raise.x", "v"]) };
        let found = run(&world, &[returned, raised]);
        assert!(found.receipts.iter().all(|receipt| receipt.state == ReceiptState::Armed), "3.{} {:?}", python.minor, found.receipts);
        let shown: Vec<_> =
            found.hits.iter().filter(|hit| hit.probe == "raised").map(|hit| serde_json::to_string(&hit.values["raise"])).collect();
        let shown: Vec<String> = shown.into_iter().collect::<Result<_, _>>().expect("prints");
        let expected = [
            r#"{"type":"__main__.Failing","text":"told"}"#,
            r#"{"type":"__main__.FailingKey","text":"key"}"#,
            r#"{"type":"ValueError","text":"told"}"#,
            r#"{"type":"KeyError"}"#,
            r#"{"type":"OSError"}"#,
        ];
        assert_eq!(shown, expected, "3.{}", python.minor);
    });
}
