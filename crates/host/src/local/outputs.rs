//! What a trial wrote, once it is over: blotted, measured, hashed and handed to the record.

use std::path::Path;

use bystander_lab::place::{Emit, RecordRefused};
use bystander_model::event::EventBody;
use bystander_model::evidence::Stream;
use bystander_store::StateDir;
use bystander_supervise::output::StreamSummary;

use crate::{proof, secrets};

/// Records the kept output of one stream. A file that cannot be blotted is taken away: better no log than a secret in it.
pub(super) fn keep(
    state: &StateDir,
    stream: Stream,
    path: &Path,
    summary: StreamSummary,
    hidden: &[String],
    emit: &mut Emit<'_>,
) -> Result<(), RecordRefused> {
    if !clean(path, hidden, emit)? {
        return Ok(());
    }
    let sha256 = match proof::sha256(path) {
        Ok(sha256) => sha256,
        Err(error) => return emit(EventBody::Note { text: format!("{} cannot be read back: {error}", path.display()) }),
    };
    emit(EventBody::Output { stream, path: state.relative(path), bytes: summary.bytes, lines: summary.lines, sha256 })
}

/// Blots secrets out of a file that is kept; `false` where it had to be taken away instead.
fn clean(path: &Path, hidden: &[String], emit: &mut Emit<'_>) -> Result<bool, RecordRefused> {
    let Err(error) = secrets::blot_file(path, hidden) else { return Ok(true) };
    let removed =
        std::fs::remove_file(path).map_or_else(|error| format!("and could not be removed ({error})"), |()| "and was removed".to_owned());
    emit(EventBody::Note { text: format!("{}: secrets could not be blotted out of it ({error}), {removed}", path.display()) })?;
    Ok(false)
}
