//! The SGLang reader on logs and hits: the numbers to the digit, their ranges, and what it says of errors.

#[path = "sglang/feed.rs"]
mod feed;

mod sglang {
    mod errors;
    mod logs;
    mod robust;
    mod story;
}
