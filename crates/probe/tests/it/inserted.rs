//! Lines that an edit puts into a Python file: what must be refused and what is only doubtful.

use bystander_probe::{InsertedProblem, check_inserted};

use crate::world::{World, on_each};

const BEFORE: &str = "def profile(total, available):\n    rest = available - total\n";
const AFTER: &str = "    return rest\n";

#[test]
fn a_print_with_an_unknown_name_or_broken_text_is_refused_and_a_good_one_is_not() {
    on_each(|python| {
        let judge = |text: &str| {
            let lines = u32::try_from(text.lines().count()).expect("few lines");
            check_inserted(&python.path, format!("{BEFORE}{text}{AFTER}").as_bytes(), &(3..3 + lines)).expect("answers")
        };
        assert_eq!(judge("    import logging as _log\n    _log.warning(f\"DEBUG rest={rest:.3f}\")\n"), []);

        let found = judge("    import logging as _log\n    _log.warning(f\"{rets}\")\n");
        let [problem @ InsertedProblem::Undefined(name)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((name.name.as_str(), name.line, name.inserted_line, name.scope.as_str()), ("rets", 4, 2, "profile"));
        assert!(problem.is_fatal() && name.candidates.contains(&"rest".to_owned()), "{problem}");

        let found = judge("    print(rest\n");
        assert!(matches!(&found[..], [InsertedProblem::Syntax { message, .. }] if !message.is_empty()), "{found:?}");
        let found = judge("    x = 1\n    print(rest))\n");
        assert!(matches!(&found[..], [InsertedProblem::Syntax { inserted_line: Some(2), .. }]), "{found:?}");

        let found = judge("    if total:\n        extra = 1\n    print(extra)\n");
        assert!(matches!(&found[..], [InsertedProblem::MaybeUndefined(name)] if name.name == "extra"), "{found:?}");
        assert!(!found[0].is_fatal());
    });
}

#[test]
fn a_file_in_another_encoding_is_checked_as_it_is() {
    on_each(|python| {
        let world = World::new(python, &[]);
        let text = b"# -*- coding: latin-1 -*-\nname = '\xe9'\nprint(name)\n";
        assert_eq!(check_inserted(&world.python.path, text, &(3..4)).expect("answers"), []);
    });
}
