//! The simulator's page and its videos in a real browser: headless Chromium, controlled over
//! WebDriver.

#[allow(dead_code, reason = "the HTTP tests use all of it")]
#[path = "../http/bench.rs"]
mod bench;
mod faults;
mod gallery;
mod looks;
mod reach;
mod stage;
mod trying;
mod video;
mod webhooks;

fn main() {
    let tests = [
        faults::tests(),
        gallery::tests(),
        looks::tests(),
        reach::tests(),
        trying::tests(),
        video::tests(),
        webhooks::tests(),
    ];
    imagekiln_testbed::run(tests.into_iter().flatten().collect());
}
