//! The signature of a failure: the same for the same failure, with and without an instrument, on any rank, at any time.

use sha2::{Digest, Sha256};

use super::clip::clip;
use super::facts::Place;
use super::mask::mask;
use super::program::{program_frame, short_file};
use super::traceback::Traceback;

/// The longest message in a signature, in bytes; a longer one is cut and gets a hash of the whole.
const MESSAGE: usize = 120;

/// The root cause's type, the innermost entry of the program by file and function, and the masked message; where other exceptions came of
/// it, the last one's type. Line numbers are left out, since an edit moves them.
#[must_use]
pub fn signature(traceback: &Traceback, place: &Place) -> String {
    let root = traceback.root();
    let kind = if root.kind.is_empty() { "cut off" } else { root.short_kind() };
    let at = program_frame(root, place).map_or_else(String::new, |frame| {
        let function = frame.function.as_deref().map_or_else(String::new, |function| format!(":{}", function_name(function)));
        format!(" in {}{function}", short_file(&relative(&frame.file, place)))
    });
    // Some types put their text on the line after the name.
    let next = root.more.first().map_or("", |line| line.trim());
    let message = match root.message.trim() {
        "" => next.to_owned(),
        // What it was is on the next line.
        message if !next.is_empty() && (message.ends_with(':') || message.contains("validation error")) => format!("{message} {next}"),
        message => message.to_owned(),
    };
    let message = if message.is_empty() { String::new() } else { format!(": {}", short_mask(&message)) };
    let last = traceback.raised.last().filter(|_| traceback.raised.len() > 1);
    let last = last.map_or_else(String::new, |last| format!(", then {}", last.short_kind()));
    format!("{kind}{at}{message}{last}")
}

/// A masked message of bearable length.
pub(crate) fn short_mask(message: &str) -> String {
    let masked = mask(message.trim());
    if masked.len() <= MESSAGE {
        return masked;
    }
    let hash = Sha256::digest(masked.as_bytes());
    format!("{}… [{:02x}{:02x}{:02x}{:02x}]", clip(&masked, MESSAGE), hash[0], hash[1], hash[2], hash[3])
}

/// Python 3.11 and later print qualified names in a few places where older ones print the last part.
fn function_name(function: &str) -> &str {
    function.rsplit('.').next().unwrap_or(function)
}

/// Python before 3.9 prints the script as it was typed, later ones its full path.
fn relative(file: &str, place: &Place) -> String {
    if file.starts_with('/') || file.starts_with('<') { file.to_owned() } else { place.cwd.join(file).to_string_lossy().into_owned() }
}
