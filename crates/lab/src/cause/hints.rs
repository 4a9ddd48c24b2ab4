//! What a person should know of errors that instruments run into: where they come from, in a few words.

use super::traceback::Traceback;

/// Words about an error, whether or not an instrument is blamed for it.
pub(super) fn hint(traceback: &Traceback) -> Option<&'static str> {
    let any = |text: &str| traceback.raised.iter().any(|raised| raised.message.contains(text));
    let kind = |name: &str| traceback.raised.iter().any(|raised| raised.short_kind() == name);
    if kind("BdbQuit") {
        return Some("a debugger's prompt in a process without a terminal");
    }
    if any("operation not permitted when stream is capturing") {
        return Some("a value was read on the host while a CUDA graph was captured");
    }
    if kind("Unsupported") && any("Logger not supported") {
        return Some("a line in code that torch compiles as one graph may not log");
    }
    if kind("Unsupported") && (any("print") || any("builtin")) {
        return Some("a line in code that torch compiles as one graph may not do this");
    }
    None
}
