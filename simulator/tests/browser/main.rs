//! The simulator's page in a real browser: Chromium without a screen, driven over WebDriver.

#[allow(dead_code, reason = "the tests over HTTP use all of it")]
#[path = "../http/bench.rs"]
mod bench;
mod browser;
mod driver;
mod faults;
mod gallery;
mod looks;
mod reach;
mod stage;
mod trying;
mod webhooks;
