//! The contact sheet and the gallery in a real browser: headless Chromium, controlled over
//! WebDriver.

mod axe;
#[path = "../it/bench.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod bench;
mod controls;
mod enlarging;
mod fixture;
#[cfg(unix)]
mod gallery;
mod looks;
mod safety;
#[cfg(unix)]
mod serving;

use std::sync::{Arc, LazyLock};

use self::fixture::Fixture;

fn main() {
    let fixture: fixture::Shared = Arc::new(LazyLock::new(Fixture::write));
    let tests = [
        controls::tests(&fixture),
        enlarging::tests(&fixture),
        looks::tests(&fixture),
        safety::tests(&fixture),
        axe::tests(&fixture),
        #[cfg(unix)]
        gallery::tests(),
        #[cfg(unix)]
        serving::tests(),
    ];
    // The tests own the fixture: the last one that ends deletes it.
    drop(fixture);
    imagekiln_testbed::run(tests.into_iter().flatten().collect());
}
