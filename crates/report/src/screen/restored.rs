//! The proof that every file is as before: bytes, metadata, and a bare baseline that behaved as the ones before.

use bystander_model::report::{Restored, RestoredFile};

use crate::page::Page;
use crate::prose::{clean, count};
use crate::style::Role;

const FILES: usize = 4;
/// Digits of a hash that are shown on the screen.
const SHORT: usize = 12;

pub(crate) fn write(page: &mut Page<'_>, restored: &Restored, patch: &str) {
    write_up_to(page, restored, FILES, SHORT, patch);
}

/// Writes every file with its whole hash.
pub(crate) fn write_all(page: &mut Page<'_>, restored: &Restored, patch: &str) {
    write_up_to(page, restored, usize::MAX, usize::MAX, patch);
}

fn write_up_to(page: &mut Page<'_>, restored: &Restored, files: usize, digits: usize, patch: &str) {
    if restored.files == 0 && restored.proofs.is_empty() {
        page.heading("Files");
        page.indented("Bystander changed no file on disk.");
        return;
    }
    page.heading("Files");
    let (role, verdict) = verdict(restored);
    let shown = restored.clean_trial.map(|trial| format!(" The bare baseline after the last undo (trial {trial}) behaved as before."));
    let not_shown = restored.not_shown.as_ref().map(|why| format!(" NOT shown by behaviour: {}.", clean(why)));
    let left = "The program or others changed what is named below, and it was left as they made it. ";
    // An edit that is still there is told by the count.
    let left = if restored.exact == Some(false) && restored.undone >= restored.made { left } else { "" };
    let summary = format!("{left}{}{}", made(restored, patch), not_shown.or(shown).unwrap_or_default());
    if let ([proof], true) = (restored.proofs.as_slice(), restored.exact == Some(true)) {
        let file = format!("{}: {}.", clean(&proof.file.to_string_lossy()), state(proof, digits));
        return page.led(&format!("  {verdict} "), Some(role), 4, &format!("{summary} {file}"));
    }
    page.led(&format!("  {verdict} "), Some(role), 4, &summary);
    // What is wrong comes first, so that it is never among those that are left out.
    let mut proofs: Vec<&RestoredFile> = restored.proofs.iter().collect();
    proofs.sort_by_key(|proof| is_exact(proof));
    for proof in proofs.iter().take(files) {
        page.led(&format!("    {}: ", clean(&proof.file.to_string_lossy())), None, 6, &state(proof, digits));
    }
    if proofs.len() > files {
        page.indented(&format!("\u{2026} {} more, all listed by show --why", count(proofs.len() - files, "file", "files")));
    }
}

fn verdict(restored: &Restored) -> (Role, &'static str) {
    match restored.exact {
        Some(true) => (Role::Good, "Every file is as before, byte for byte and in its metadata."),
        Some(false) => (Role::Bad, "NOT every file is as before."),
        None => (Role::Open, "Not compared yet."),
    }
}

fn made(restored: &Restored, patch: &str) -> String {
    let live = restored.made.saturating_sub(restored.undone);
    match restored.files as usize {
        0 => format!("{} compared, none had been changed.", count(restored.proofs.len(), "file was", "files were")),
        files if live > 0 => format!(
            "{} in {} made, {} undone, {} not known to be undone (`{} status`).",
            count(restored.made as usize, "edit", "edits"),
            count(files, "file", "files"),
            restored.undone,
            live,
            clean(patch)
        ),
        files => format!("{} in {}, made and undone.", count(restored.made as usize, "edit", "edits"), count(files, "file", "files")),
    }
}

fn is_exact(proof: &RestoredFile) -> bool {
    proof.metadata_same && proof.after_sha256.as_deref() == Some(proof.before_sha256.as_str())
}

fn state(proof: &RestoredFile, digits: usize) -> String {
    let short = |hash: &str| hash.chars().take(digits).collect::<String>();
    let edits = if proof.edits == 0 { "never edited".to_owned() } else { count(proof.edits as usize, "edit undone", "edits undone") };
    let before = short(&proof.before_sha256);
    match &proof.after_sha256 {
        None => format!("GONE; was sha256 {before}, {edits}"),
        Some(after) if *after != proof.before_sha256 => format!("DIFFERS: sha256 {before} before, {} now, {edits}", short(after)),
        Some(_) if !proof.metadata_same => format!("sha256 {before} before and now, but its mode, owner or times DIFFER, {edits}"),
        Some(_) => format!("sha256 {before} before and now"),
    }
}
