//! A running simulator with its page open in a browser, separate for each test.

use imagekiln_simulator::Config;
use imagekiln_testbed::{
    Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of,
};

use super::bench::Bench;

pub struct Stage<'a> {
    pub bench: Bench,
    pub browser: &'a Browser,
}

/// Creates a test from a scene that it runs on a stage.
pub fn test<S>(config: Config, scene: S) -> Trial
where
    S: AsyncFnOnce(&Stage<'_>) + Send + 'static,
{
    imagekiln_testbed::test(name_of(&scene), &[BROWSER], Runtime::CurrentThread, async || {
        Browser::with(async |browser| {
            let stage = Stage { bench: Bench::with(config).await, browser };
            browser.open(stage.bench.sim.control_url()).await;
            browser.wait("document.querySelector('#live').dataset.live === 'yes'").await;
            scene(&stage).await;
        })
        .await;
    })
}
