//! Runs the examples of the README, block by block.

use std::time::Duration;

use crate::bench::{Bench, png};

fn readme() -> &'static str {
    imagekiln_testbed::page("cli/README.md")
}

#[test]
fn every_example_runs() {
    let blocks: Vec<&str> =
        readme().split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 4, "expected more blocks marked `sh`");
    for block in blocks {
        let bench = Bench::ready_after(Duration::ZERO);
        for image in ["cat.png", "hat.png", "mask.png"] {
            bench.place.write(image, png(256, 256));
        }
        let outcome = bench.shell(block);
        assert_eq!(outcome.code, 0, "{block}\n{}", outcome.stderr);
    }
}
