//! The simulator's page and its videos in a real browser: headless Chromium, controlled over
//! WebDriver.

mod axe;
#[allow(dead_code, reason = "the HTTP tests use all of it")]
#[path = "../http/bench.rs"]
mod bench;
mod details;
mod faults;
mod gallery;
mod looks;
mod reach;
mod requests;
mod stage;
mod trying;
mod updates;
mod video;
mod webhooks;
mod welcome;

fn main() {
    let tests = [
        axe::tests(),
        details::tests(),
        faults::tests(),
        gallery::tests(),
        looks::tests(),
        reach::tests(),
        requests::tests(),
        trying::tests(),
        updates::tests(),
        video::tests(),
        webhooks::tests(),
        welcome::tests(),
    ];
    imagekiln_testbed::run(tests.into_iter().flatten().collect());
}
