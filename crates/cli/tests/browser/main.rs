//! The contact sheet in a real browser: headless Chromium, controlled over WebDriver.

mod controls;
mod enlarging;
mod fixture;
mod looks;
mod safety;

use std::sync::{Arc, LazyLock};

use self::fixture::Fixture;

fn main() {
    let fixture: fixture::Shared = Arc::new(LazyLock::new(Fixture::write));
    let tests = [
        controls::tests(&fixture),
        enlarging::tests(&fixture),
        looks::tests(&fixture),
        safety::tests(&fixture),
    ];
    // The tests own the fixture: the last one that ends deletes it.
    drop(fixture);
    imagekiln_testbed::run(tests.into_iter().flatten().collect());
}
