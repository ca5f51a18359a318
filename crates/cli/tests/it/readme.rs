//! Runs the examples of the pages about kiln as a reader does: in one directory, which is empty at
//! first.

use std::time::Duration;

use crate::{bench::Bench, book::OF_KILN};

#[test]
fn every_example_runs() {
    for page in OF_KILN {
        let text = imagekiln_testbed::page(page);
        let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let bench = Bench::ready_after(Duration::ZERO);
        let mut count = 0;
        for block in blocks {
            let outcome = bench.shell(block);
            assert_eq!(outcome.code, 0, "{page}: {block}\n{}", outcome.stderr);
            count += 1;
        }
        assert!(count > 1, "{page}: expected more blocks marked `sh`");
    }
}
