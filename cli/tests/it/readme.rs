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

#[test]
fn every_exit_code_is_explained() {
    let help = crate::bench::Place::new().run(&["exit-codes"]).ok().text();
    let (_, codes) = help.split_once("Exit codes:\n").unwrap();
    for line in codes.lines().filter(|line| !line.is_empty()) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        assert!(readme().contains(&format!("| {code} | {meaning} |")), "{line}");
    }
}
