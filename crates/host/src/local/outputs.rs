//! What a trial wrote, once it is over: measured, hashed and handed to the record.

use std::path::Path;

use bystander_lab::place::{Emit, RecordRefused};
use bystander_model::event::EventBody;
use bystander_model::evidence::Stream;
use bystander_store::StateDir;
use bystander_supervise::output::StreamSummary;

use crate::proof;

/// Records the kept output of one stream.
pub(super) fn keep(
    state: &StateDir,
    stream: Stream,
    path: &Path,
    summary: StreamSummary,
    emit: &mut Emit<'_>,
) -> Result<(), RecordRefused> {
    match proof::sha256(path) {
        Ok(sha256) => emit(EventBody::Output { stream, path: state.relative(path), bytes: summary.bytes, lines: summary.lines, sha256 }),
        Err(error) => emit(EventBody::Note { text: format!("{} cannot be read back: {error}", path.display()) }),
    }
}
