//! The one-line form of a probe: any text is a probe or a fault with a place in it, and a probe prints what reads back the same.
#![no_main]

use bystander_model::probe::syntax;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match syntax::parse(text) {
        Ok(typed) => {
            for span in typed.spans.values() {
                assert!(text.get(span.clone()).is_some(), "a span of a part lies in the text");
            }
            let printed = typed.probe.to_string();
            let again = syntax::parse(&printed).expect("what is printed is a probe");
            assert_eq!(again.probe, typed.probe, "{printed}");
        }
        Err(error) => assert!(text.get(error.at.clone()).is_some(), "the fault lies in the text"),
    }
});
