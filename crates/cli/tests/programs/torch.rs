//! Programs that torch compiles, probed in what is compiled: they end as without, with whole graphs too, and what was not seen is said.
//!
//! `BYSTANDER_TORCH` names a Python that has torch; `just real` sets it to one of its engines'.

use bystander_testkit::{Mark, World, skip};
use serde_json::Value;

use crate::experiment::world;

const INNER: &str =
    "def layer(x):\n    y = x * 2\n    return y + 1\n\n\nclass Block:\n    def forward(self, x):\n        z = layer(x)\n        return z\n";

/// The compiled function and what it calls are in files of their own, so nobody can see before the launch that a compiler takes them over.
const OUTER: &str = "import torch, inner\nh = torch.compile(inner.Block().forward, backend='eager', fullgraph=True)\nfor _ in range(3): out = h(torch.ones(2))\nprint('fine', out.tolist())\n";

const OWN: &str = "import torch\ndef work(x):\n    y = x * 2\n    return y + 1\nh = torch.compile(work, backend='eager')\nfor _ in range(3): out = h(torch.ones(2))\nprint('fine', out.tolist())\n";

/// Watches a program and gives its one receipt and the hits.
fn watched(world: &World, python: &str, probe: &str, program: &str) -> (Value, usize) {
    let ran = world.bystander(["watch", "--json", "-p", probe, "--", python, program]).run().exits(0);
    assert!(ran.stderr.contains("fine [3.0, 3.0]"), "{probe}: {}", ran.stderr);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let hits = lines.iter().filter(|line| line.get("hit").is_some()).count();
    let receipts = lines.iter().find_map(|line| line.get("summary")).expect("a summary")["receipts"].clone();
    let placed = receipts.as_array().expect("receipts").iter().find(|receipt| receipt["passes"].is_number()).cloned();
    (placed.unwrap_or_else(|| panic!("in place nowhere: {receipts:#}")), hits)
}

#[test]
fn a_program_that_torch_compiles_ends_as_without_a_probe() {
    let Some(python) = std::env::var("BYSTANDER_TORCH").ok() else {
        skip("BYSTANDER_TORCH names no Python with torch", Mark::Download);
        return;
    };
    let world = world();
    world.write("inner.py", INNER);
    world.write("outer.py", OUTER);
    world.write("own.py", OWN);
    for probe in [
        "inner:layer {x}",
        "inner:layer after 'y = ...' {y} if y is not None",
        "inner:layer@return {return}",
        "inner:layer@raise {raise}",
        "inner:Block.forward@return {return, x} limit 2, 1/s",
    ] {
        let (receipt, hits) = watched(&world, &python, probe, "outer.py");
        assert_eq!((hits, receipt["passes"].as_u64()), (0, Some(0)), "{probe}");
        assert!(receipt["detail"].as_str().is_some_and(|detail| detail.contains("torch.compile took over pass unseen")), "{receipt:#}");
    }
    // Seen in its own file: refused, unless the probe says what to do.
    let refused = world.bystander(["watch", "-p", "own:work {x}", "--"]).args([&python, "own.py"]).run().exits(3);
    assert!(refused.stderr.contains("torch.compile"), "{}", refused.stderr);
    let (broken, hits) = watched(&world, &python, "own:work {x} compiled break", "own.py");
    assert_eq!((hits, broken["passes"].as_u64()), (3, Some(3)));
    let (skipped, hits) = watched(&world, &python, "own:work {x} compiled skip", "own.py");
    assert_eq!((hits, skipped["state"].as_str()), (0, Some("compiled_away")), "{skipped:#}");
}
