//! The one-line form of a probe: what it means, where its faults are, and that it reads back what it prints.

use bystander_model::probe::syntax::{self, SyntaxError};
use bystander_model::probe::{Compiled, Delivery, Moment, Place, ProbeSpec};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

fn read(text: &str) -> ProbeSpec {
    syntax::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).probe
}

fn fault(text: &str) -> SyntaxError {
    syntax::parse(text).expect_err(text)
}

#[test]
fn the_parts_of_a_probe_are_read_in_any_order() {
    let probe = read("app/sizing.py:42 {rest, total}");
    assert_eq!(probe.at, Place::Line { path: "app/sizing.py".into(), line: 42 });
    assert_eq!(probe.capture, ["rest", "total"]);

    let probe = read("pkg.mod:Class.method@return {return, self.fraction} if return < 0 limit 100, 10/s as kv");
    assert!(matches!(&probe.at, Place::Function { function, moment: Moment::Return, .. } if function == "Class.method"));
    assert_eq!(probe.capture, ["return", "self.fraction"]);
    assert_eq!(probe.condition.as_deref(), Some("return < 0"));
    assert_eq!((probe.limit, probe.rate.map(|rate| rate.to_string())), (Some(100), Some("10/s".into())));
    assert_eq!(probe.name, "kv");

    let other = read("pkg.mod:Class.method@return as kv limit 10/s, 100 if return < 0 {return, self.fraction,}");
    assert_eq!(other, probe);

    let probe = read(r#"m:f after "x = \"...\"" unsafe via mount compiled skip rank self.rank {len(x["a,b}"]), (a, b)[0], {1: 2}[1]}"#);
    assert_eq!(probe.after.as_deref(), Some(r#"x = "...""#));
    assert_eq!(probe.capture, [r#"len(x["a,b}"])"#, "(a, b)[0]", "{1: 2}[1]"]);
    assert!(probe.unsafe_capture);
    assert_eq!((probe.delivery, probe.compiled), (Delivery::Mount, Compiled::Skip));
    assert_eq!(probe.rank.as_deref(), Some("self.rank"));
}

#[test]
fn a_word_that_begins_a_part_is_a_variable_where_an_operand_is_due() {
    let probe = read("m:f if rank == 0 and limit < unsafe rank rank limit 3");
    assert_eq!(probe.condition.as_deref(), Some("rank == 0 and limit < unsafe"));
    assert_eq!((probe.rank.as_deref(), probe.limit), (Some("rank"), Some(3)));
    assert_eq!(read("m:f if self.limit > 3 limit 4").condition.as_deref(), Some("self.limit > 3"));
    assert_eq!(read("m:f if x not in asked{x}").capture, ["x"]);
    assert_eq!(read("m:f if 'limit 3' in text").condition.as_deref(), Some("'limit 3' in text"));
    assert_eq!(read("m:f {limit, after, as_, rank}").capture, ["limit", "after", "as_", "rank"]);
}

#[test]
fn a_path_with_white_space_stands_in_quotes() {
    for text in [r#""my app/size.py:7" {x}"#, r#""my app/size.py":7 {x}"#, "'my app/size.py':7{x}"] {
        let probe = read(text);
        assert_eq!(probe.at, Place::Line { path: "my app/size.py".into(), line: 7 }, "{text}");
        assert_eq!(probe.capture, ["x"]);
    }
}

#[test]
fn a_fault_is_told_with_its_place() {
    let cases = [
        ("", "", "the probe is empty"),
        ("   ", "", "the probe is empty"),
        ("engine.sizing", "", "expected `module:function`"),
        ("m:f@exit {x}", "exit", "`@entry`, `@return` or `@raise`"),
        ("a.py:0", "0", "is not a line number"),
        ("m:f {x", "{", "what `{` opens"),
        ("m:f {x, (y}", "}", "nothing is open that it closes"),
        ("m:f {x,,y}", ",y}", "before the comma"),
        ("m:f {x} {y}", "{", "second `{`"),
        ("m:f if", "", "after `if`"),
        ("m:f if x >", "", "after the operator"),
        ("m:f {x., y}", "", "after the operator"),
        ("m:f if x > 'a", "'", "what `'` opens"),
        ("m:f if (x", "(", "what `(` opens"),
        ("m:f if x, limit 3", ",", "expected `{…}`"),
        ("m:f limit 0", "0", "hits from 1"),
        ("m:f limit many", "many", "hits from 1"),
        ("m:f limit 3, 4", "4", "hits from 1"),
        ("m:f limit 3, 4/d", "d", "the span is"),
        ("m:f limit 3, 4/s, 5", "5", "hits from 1"),
        ("m:f after x = ...", "x", "write it in quotes"),
        ("m:f after ''", "", "write it in quotes"),
        ("m:f via ssh", "ssh", "`overlay`, `mount` or `patch`"),
        ("m:f compiled", "", "`break` or `skip`"),
        ("m:f as", "", "a name without white space"),
        ("m:f whenever x", "whenever", "read `whenever`"),
        (r#""a b.py:3"#, "\"", "what `\"` opens"),
        (r#""a\"é":k {x}"#, r#""a\"é":k"#, "is not a dotted module name"),
    ];
    for (text, place, words) in cases {
        let error = fault(text);
        assert_eq!(&text[error.at.clone()], place, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn the_parts_are_where_the_spans_say() {
    let text = r#"m:f@return  after "x = ..." {a , b.c} if a < 1 rank r as n"#;
    let typed = syntax::parse(text).expect("a probe");
    let parts: Vec<(&str, &str)> = typed.spans.iter().map(|(key, span)| (key.as_str(), &text[span.clone()])).collect();
    let wanted = [
        ("at", "m:f@return"),
        ("after", "x = ..."),
        ("capture.0", "a"),
        ("capture.1", "b.c"),
        ("if", "a < 1"),
        ("rank", "r"),
        ("name", "n"),
    ];
    assert_eq!(parts, wanted);
}

fn expression() -> impl Strategy<Value = String> {
    let name = "[a-z_][a-z0-9_]{0,6}".prop_filter("a word of Python", |name| {
        !["and", "or", "not", "in", "is", "if", "else", "for", "lambda", "await", "as"].contains(&name.as_str())
    });
    let leaf = prop_oneof![name, "[1-9][0-9]{0,3}", "'[a-z ,}{]{0,5}'", Just("limit".to_owned()), Just("rank".to_owned())];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} < {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} and not {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            inner.prop_map(|a| format!("len({a})")),
        ]
    })
}

/// A place as it is typed. A module whose last part is `py` is not among them: `a.py:f` is read as a file and refused,
/// with `a:f` offered instead.
fn place() -> impl Strategy<Value = String> {
    let function = "[a-z]{1,5}(\\.[a-z]{1,5}){0,2}:[a-z_]{1,6}(@return|@raise|)";
    prop_oneof![
        function.prop_filter("a module, not a file", |place| !place.contains(".py:")),
        "[a-z ]{0,4}/[a-z'\"\\\\{ ]{0,6}\\.py:[1-9][0-9]{0,3}",
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_the_same(
        place in place(),
        after in prop::option::of("[a-z]{1,4} = [ -~]{0,8}"),
        capture in prop::collection::vec(expression(), 0..4),
        condition in prop::option::of(expression()),
        limit in prop::option::of(1_u64..1000),
        rate in prop::option::of(1_u32..1000),
        flags in any::<(bool, bool)>(),
        rank in prop::option::of(expression()),
    ) {
        let mut probe = ProbeSpec::new(if flags.0 { "named" } else { "" }, place.parse().expect("a place"));
        probe.after = after;
        probe.capture = capture;
        probe.condition = condition;
        probe.limit = limit;
        probe.rate = rate.map(|rate| format!("{rate}/s").parse().expect("a rate"));
        probe.rank = rank;
        probe.unsafe_capture = flags.1;
        let text = probe.to_string();
        let read = syntax::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.probe, probe, "{text}");
        for span in read.spans.values() {
            assert!(text.get(span.clone()).is_some());
        }
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,40}|[a-z:@{}()\"', ]{0,40}") {
        if let Err(error) = syntax::parse(&text) {
            assert!(text.get(error.at.clone()).is_some(), "{text}: {error:?}");
        }
    }
}
