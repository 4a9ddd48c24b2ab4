//! What a streamed token costs the client.
fn main() {}
