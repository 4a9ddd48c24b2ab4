//! Apply and undo are the identity, whatever the bytes and the place.

use std::fs;

use bystander_edit::{Action, EditSpec, Find, PatchSpec, prepare, prepare_patches};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest};
use proptest::sample::Index;

use crate::world::{World, set_times, snapshot};

/// Bytes in which line ends, marks and repetition are frequent.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => any::<u8>().prop_map(|byte| vec![byte]),
        4 => "[a-c ]{1,6}".prop_map(String::into_bytes),
        2 => prop_oneof!["\n", "\r\n", "\r", "\t"].prop_map(String::into_bytes),
        1 => proptest::strategy::Just(b"\xef\xbb\xbf".to_vec()),
    ];
    proptest::collection::vec(piece, 1..40).prop_map(|pieces| pieces.concat())
}

fn action() -> impl Strategy<Value = Action> {
    // Texts need not be UTF-8.
    let text = || {
        proptest::collection::vec(
            prop_oneof![6 => "[a-c ]|\n|\r\n|é".prop_map(String::into_bytes), 1 => any::<u8>().prop_map(|byte| vec![byte])],
            0..8,
        )
    };
    let text = || text().prop_map(|pieces| pieces.concat());
    prop_oneof![text().prop_map(Action::InsertAfter), text().prop_map(Action::InsertBefore), text().prop_map(Action::Replace)]
}

/// The longest text that is in the bytes around a place.
fn text_at(bytes: &[u8], place: Index, length: usize) -> Option<String> {
    let start = place.index(bytes.len());
    let chunk = bytes[start..].utf8_chunks().next()?.valid();
    let end = chunk.char_indices().map(|(at, _)| at).chain([chunk.len()]).take_while(|&at| at <= length).last()?;
    Some(chunk[..end].to_owned()).filter(|text| !text.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn apply_then_undo_is_the_identity(
        bytes in bytes(), place in any::<Index>(), length in 1_usize..12, action in action(), second in 1_u64..2_000_000_000, ns in 0_u32..1_000_000_000,
    ) {
        let find = text_at(&bytes, place, length);
        prop_assume!(find.is_some());
        let find = find.unwrap_or_default();
        let world = World::new();
        let file = world.write("file", &bytes);
        set_times(&file, second, ns, ns / 2);
        let before = snapshot(&file);
        let made = prepare(&EditSpec { name: "any".to_owned(), file: file.clone(), find, action, sha256: None });
        prop_assume!(made.is_ok());
        let Ok(made) = made else { return Ok(()) };
        prop_assert_eq!(&made.before, &bytes);
        let journal = world.journal();
        let applied = journal.apply(&made, "run").expect("applied");
        prop_assert_eq!(&fs::read(&file).expect("there"), &made.after);
        let mut put_back = made.after[..made.inserted.start].to_vec();
        put_back.extend_from_slice(&made.before[made.removed.clone()]);
        put_back.extend_from_slice(&made.after[made.inserted.end..]);
        prop_assert_eq!(&put_back, &bytes);
        let reverted = journal.revert(&applied.id).expect("reverted");
        prop_assert!(reverted.exact);
        prop_assert_eq!(snapshot(&file), before);
    }

    #[test]
    fn a_patch_and_its_undo_are_the_identity_in_every_language(
        bytes in bytes(), place in any::<Index>(), length in 1_usize..12, action in action(), name in "m[.](py|c|rs|js|go|txt|cu)", inline in any::<bool>(),
    ) {
        let find = text_at(&bytes, place, length);
        prop_assume!(find.is_some());
        let world = World::new();
        let file = world.write(&name, &bytes);
        set_times(&file, 1_000_000_000, 5, 7);
        let before = snapshot(&file);
        let spec = PatchSpec {
            name: "any".to_owned(),
            file: file.clone(),
            find: Find::Text(find.unwrap_or_default().into_bytes()),
            action,
            language: None,
            comment: None,
            all: true,
            inline,
            unchecked: true,
        };
        let made = prepare_patches(&[spec]);
        prop_assume!(made.is_ok());
        let Ok(made) = made else { return Ok(()) };
        let journal = world.journal();
        journal.keep(&made, None).expect("made");
        prop_assert_eq!(&fs::read(&file).expect("there"), &made.last().expect("an edit").after);
        let recovery = journal.revert_all().expect("taken back");
        prop_assert!(recovery.failed.is_empty());
        if name == "m.py" {
            prop_assert_eq!(snapshot(&file), before);
        } else {
            prop_assert_eq!(snapshot(&file).bytes, before.bytes);
        }
        world.assert_nothing_left();
    }
}
