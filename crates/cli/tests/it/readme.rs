//! Runs the examples of the pages about kiln, block by block.

use std::time::Duration;

use crate::{
    bench::{Bench, png},
    book::OF_KILN,
};

#[test]
fn every_example_runs() {
    for page in OF_KILN {
        let text = imagekiln_testbed::page(page);
        let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
        let mut count = 0;
        for block in blocks {
            let bench = Bench::ready_after(Duration::ZERO);
            for image in ["cat.png", "hat.png", "mask.png"] {
                bench.place.write(image, png(256, 256));
            }
            let outcome = bench.shell(block);
            assert_eq!(outcome.code, 0, "{page}: {block}\n{}", outcome.stderr);
            count += 1;
        }
        assert!(count > 1, "{page}: expected more blocks marked `sh`");
    }
}
