//! vLLM's logs explained: real logs, and what people reported, with the numbers to the printed precision.

#[path = "vllm/told.rs"]
mod told;

mod vllm {
    mod card;
    mod context;
    mod logs;
    mod robust;
    mod sizing;
    mod start;
    mod suggestions;
    mod trial;
}
