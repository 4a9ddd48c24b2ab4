//! Archives: the same run gives the same bytes, and nothing else than an archive of a run is ever believed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bystander_model::archive::{Manifest, Member};
use bystander_model::event::{Event, EventBody, RunEnd};
use bystander_model::ids::RunId;
use bystander_store::archive::{ArchiveError, Opened, Packer, Source};
use bystander_store::output::sha256_hex;
use bystander_store::{RunRecord, RunStatus, Store};
use tar::{Builder, EntryType, Header};

use crate::fixture::{all, note, run, state, store_with};

const RUN: &str = "story-1";

/// An archive of a run with three events and two files.
fn packed(folder: &Path, name: &str) -> PathBuf {
    let state = state(folder);
    let mut store = store_with(&state, RUN);
    let end = EventBody::RunEnded(RunEnd::Finished { why: "all blocks".into() });
    let ended = Event { trial: None, body: end, ..note(RUN, 0) };
    store.append_all(&[note(RUN, 0), note(RUN, 1), ended]).expect("recorded");
    let record = store.run(&RunId(RUN.into())).expect("read").expect("a run");
    let mut packer = Packer::begin(&store, &record, "1.2.3").expect("begun");
    packer.add("report.json", Source::Bytes(b"{}".to_vec())).expect("added");
    let log = folder.join("stdout");
    fs::write(&log, "line\n".repeat(1000)).expect("written");
    packer.add_recorded("logs/trial-1/stdout", &log, &sha256_hex("line\n".repeat(1000).as_bytes())).expect("added");
    let to = folder.join(name);
    packer.write(&to).expect("packed");
    to
}

#[test]
fn what_is_packed_is_what_is_opened_and_the_same_run_gives_the_same_bytes() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let first = packed(dir.path(), "a.tar.zst");
    let second = packed(dir.path(), "b.tar.zst");
    assert_eq!(fs::read(&first).expect("read"), fs::read(&second).expect("read"));
    let opened = Opened::read(&first).expect("an archive");
    let names: Vec<&str> = opened.manifest.members.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names, ["events.jsonl", "report.json", "logs/trial-1/stdout"]);
    let recorded = Store::open(&state(dir.path())).expect("a record");
    assert_eq!(all(&opened.store, RUN), all(&recorded, RUN));
    let record = RunRecord { status: RunStatus::Finished, ..run(RUN, "/x/story.toml") };
    assert_eq!((opened.run, opened.manifest.version.as_str()), (record, "1.2.3"));
    assert!(matches!(packer(&recorded).write(&first), Err(ArchiveError::Exists { .. })), "nothing is written over");
    let names = fs::read_dir(dir.path()).expect("a folder").flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    assert!(!names.into_iter().any(|name| name.contains("unfinished")), "nothing is left");
}

fn packer(store: &Store) -> Packer {
    let record = store.run(&RunId(RUN.into())).expect("read").expect("a run");
    Packer::begin(store, &record, "1.2.3").expect("begun")
}

#[test]
fn a_file_that_changed_and_a_name_that_leads_elsewhere_are_told_and_left_out() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let first = packed(dir.path(), "a.tar.zst");
    let store = Store::open(&state(dir.path())).expect("a record");
    let mut packer = packer(&store);
    packer.add_recorded("logs/trial-1/stdout", &dir.path().join("stdout"), "another hash").expect("added");
    packer.add("../x", Source::Bytes(Vec::new())).expect("told");
    packer.add("events.jsonl", Source::Bytes(Vec::new())).expect("told");
    assert!(packer.add("gone", Source::File(dir.path().join("gone"))).is_err());
    let second = dir.path().join("b.tar.zst");
    let manifest = packer.write(&second).expect("packed");
    assert_eq!(manifest.members.len(), 1, "{manifest:?}");
    assert_eq!(manifest.left_out.len(), 3, "{manifest:?}");
    assert!(manifest.left_out[0].contains("logs/trial-1/stdout: its file was changed"), "{manifest:?}");
    assert_ne!(fs::read(first).expect("read"), fs::read(&second).expect("read"));
    assert_eq!(Opened::read(&second).expect("an archive").manifest, manifest);
}

#[test]
fn an_archive_that_was_cut_or_changed_anywhere_is_refused() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let whole = fs::read(packed(dir.path(), "a.tar.zst")).expect("read");
    let broken = dir.path().join("broken");
    for cut in (0..whole.len()).step_by(7) {
        fs::write(&broken, &whole[..cut]).expect("written");
        assert!(Opened::read(&broken).is_err(), "cut after {cut} of {}", whole.len());
    }
    let expected = Opened::read(&dir.path().join("a.tar.zst")).expect("an archive");
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&broken, &bytes).expect("written");
        // A bit that means nothing to the format may be another; what is read is then the same.
        if let Ok(opened) = Opened::read(&broken) {
            assert_eq!(opened.manifest, expected.manifest, "byte {at}");
            assert_eq!(all(&opened.store, RUN), all(&expected.store, RUN), "byte {at}");
        }
    }
}

/// A member of an archive that nobody of good will makes.
struct Forged<'a> {
    name: &'a str,
    kind: EntryType,
    text: &'a [u8],
    link: Option<&'a str>,
}

fn plain<'a>(name: &'a str, text: &'a [u8]) -> Forged<'a> {
    Forged { name, kind: EntryType::Regular, text, link: None }
}

/// Writes an archive with these members after its manifest, as they are.
fn forge(folder: &Path, manifest: &[u8], members: &[Forged<'_>]) -> PathBuf {
    let path = folder.join("forged.tar.zst");
    let encoder = zstd::Encoder::new(fs::File::create(&path).expect("a file"), 1).expect("an encoder");
    let mut tar = Builder::new(encoder);
    let first = plain("story-1/manifest.json", manifest);
    for member in std::iter::once(&first).chain(members) {
        let mut header = Header::new_ustar();
        // Straight into the field: the writer would refuse such names.
        header.as_old_mut().name[..member.name.len()].copy_from_slice(member.name.as_bytes());
        header.set_entry_type(member.kind);
        header.set_size(member.text.len() as u64);
        if let Some(link) = member.link {
            header.set_link_name(link).expect("a link");
        }
        header.set_cksum();
        tar.append(&header, member.text).expect("appended");
    }
    tar.into_inner().and_then(zstd::Encoder::finish).and_then(|mut file| file.flush()).expect("written");
    path
}

fn manifest(members: &[(&str, &[u8])]) -> Manifest {
    let member = |(name, text): &(&str, &[u8])| Member { name: (*name).into(), bytes: text.len() as u64, sha256: sha256_hex(text) };
    Manifest {
        format: 1,
        version: "1.2.3".into(),
        run: RUN.into(),
        file: "/x/story.toml".into(),
        spec_sha256: "ab".into(),
        created_ns: 1,
        status: "finished".into(),
        members: members.iter().map(member).collect(),
        left_out: Vec::new(),
    }
}

fn json(manifest: &Manifest) -> Vec<u8> {
    serde_json::to_vec(manifest).expect("written")
}

fn refusal(path: &Path) -> String {
    let error = Opened::read(path).expect_err("it is refused");
    std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

#[test]
fn members_that_are_no_plain_files_or_lead_elsewhere_are_refused() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let event = serde_json::to_vec(&note(RUN, 0)).expect("written");
    let good = json(&manifest(&[("events.jsonl", &event)]));
    let path = forge(dir.path(), &good, &[plain("story-1/events.jsonl", &event)]);
    assert_eq!(all(&Opened::read(&path).expect("an archive").store, RUN), [note(RUN, 0)]);

    let link = |kind| Forged { name: "story-1/events.jsonl", kind, text: b"", link: Some("/etc/passwd") };
    for (members, why) in [
        (vec![plain("../../etc/cron.d/x", &event)], "stands where its manifest names"),
        (vec![plain("/etc/passwd", &event)], "stands where its manifest names"),
        (vec![link(EntryType::Symlink)], "is no plain file"),
        (vec![link(EntryType::Link)], "is no plain file"),
        (vec![Forged { kind: EntryType::Directory, ..plain("story-1/events.jsonl", b"") }], "is no plain file"),
        (vec![Forged { kind: EntryType::Fifo, ..plain("story-1/events.jsonl", b"") }], "is no plain file"),
        (vec![Forged { kind: EntryType::GNULongName, ..plain("story-1/events.jsonl", b"x") }], "is no plain file"),
        (vec![plain("story-1/events.jsonl", b"{}")], "its manifest says"),
        (vec![], "events.jsonl is missing"),
        (vec![plain("story-1/events.jsonl", &event), plain("story-1/more", b"x")], "more than its manifest names"),
    ] {
        let path = forge(dir.path(), &good, &members);
        let said = refusal(&path);
        assert!(said.contains(why) && said.contains("nothing of it was used"), "{why}: {said}");
    }
    let other = vec![b'x'; event.len()];
    let mut lying = manifest(&[("events.jsonl", &event)]);
    lying.members[0].sha256 = sha256_hex(&other);
    assert!(refusal(&forge(dir.path(), &json(&lying), &[plain("story-1/events.jsonl", &event)])).contains("is not as it was packed"));
}

#[test]
fn manifests_that_lie_are_refused_before_their_content_is_read() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let event = serde_json::to_vec(&note(RUN, 0)).expect("written");
    let good = manifest(&[("events.jsonl", &event)]);
    let with = |change: &dyn Fn(&mut Manifest)| {
        let mut changed = good.clone();
        change(&mut changed);
        refusal(&forge(dir.path(), &json(&changed), &[plain("story-1/events.jsonl", &event)]))
    };
    for (change, why) in [
        (Box::new(|manifest: &mut Manifest| manifest.format = 2) as Box<dyn Fn(&mut Manifest)>, "update bystander"),
        (Box::new(|manifest| manifest.run = "other".into()), "not named after its run"),
        (Box::new(|manifest| manifest.members[0].name = "../x".into()), "leads elsewhere"),
        (Box::new(|manifest| manifest.members[0].name = "manifest.json".into()), "leads elsewhere"),
        (Box::new(|manifest| manifest.members[0].name = "report.json".into()), "0 members events.jsonl"),
        (Box::new(|manifest| manifest.members.push(manifest.members[0].clone())), "2 members events.jsonl"),
        (Box::new(|manifest| manifest.members[0].bytes = u64::MAX), "more than any run"),
        (Box::new(|manifest| manifest.members[0].bytes = 17 << 30), "more than any run"),
    ] {
        let said = with(&*change);
        assert!(said.contains(why), "{why}: {said}");
    }
    assert!(refusal(&forge(dir.path(), b"{\"format\": 1}", &[])).contains("manifest.json"));
    assert!(refusal(&forge(dir.path(), b"{\"format\": 99, \"all\": \"else\"}", &[])).contains("format 99"));
    assert!(refusal(&forge(dir.path(), b"\x00\xff", &[])).contains("damaged"));
}

#[test]
fn events_of_another_run_of_a_newer_version_and_without_sense_are_told_apart() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let mut other = note(RUN, 0);
    other.run = RunId("other".into());
    let other = serde_json::to_string(&other).expect("written");
    let newer = serde_json::to_string(&note(RUN, 0)).expect("written").replace("\"note\"", "\"hologram\"");
    for (text, why) in [
        (other.as_str(), "an event of another run"),
        (newer.as_str(), "update bystander: unknown variant `hologram`"),
        ("{\"run\":", "events.jsonl:1"),
        ("\u{0}\u{0}\n", "its text is damaged"),
        ("{}\n", "events.jsonl:1"),
    ] {
        let good = json(&manifest(&[("events.jsonl", text.as_bytes())]));
        let said = refusal(&forge(dir.path(), &good, &[plain("story-1/events.jsonl", text.as_bytes())]));
        assert!(said.contains(why), "{why}: {said}");
    }
}

#[test]
fn a_bomb_is_given_up_at_its_limit_and_what_is_no_archive_is_said_to_be_none() {
    let dir = tempfile::tempdir().expect("temporary folder");
    // A line that never ends: it is given up at the limit of one event, of which its letters alone are held.
    let zeros = vec![b' '; 80 << 20];
    let mut good = manifest(&[("events.jsonl", b"")]);
    good.members[0].bytes = zeros.len() as u64;
    let path = forge(dir.path(), &json(&good), &[plain("story-1/events.jsonl", &zeros)]);
    assert!(fs::metadata(&path).expect("a file").len() < 100_000, "a small file");
    let said = refusal(&path);
    assert!(said.contains("too long"), "{said}");
    for bytes in [&b""[..], b"hello\n", &[0x28, 0xb5, 0x2f, 0xfd], &[0; 10_240], b"\x1f\x8b\x08\x00"] {
        let path = dir.path().join("x");
        fs::write(&path, bytes).expect("written");
        let said = refusal(&path);
        assert!(said.contains("damaged, or no archive of a run") || said.contains("it is empty"), "{said}");
    }
    assert!(refusal(dir.path()).contains("damaged, or no archive") || refusal(dir.path()).contains("access"), "{}", refusal(dir.path()));
}
