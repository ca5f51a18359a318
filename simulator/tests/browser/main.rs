//! The simulator's page in a real browser: headless Chromium, controlled over WebDriver.

#[allow(dead_code, reason = "the HTTP tests use all of it")]
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
