//! A running simulator with its page open in a browser, separate for each test.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    path::Path,
};

use futures_util::FutureExt as _;

use super::{bench::Bench, browser::Browser, driver::Driver};
use imagekiln_simulator::Config;

/// If set to `required`, a missing browser fails the tests instead of skipping them.
const REQUIRED: &str = "IMAGEKILN_BROWSER_TESTS";

pub struct Stage {
    pub bench: Bench,
    pub browser: Browser,
}

/// Runs `scene` on a stage. Ends the browser even if it panics.
pub async fn play(config: Config, scene: impl AsyncFnOnce(&Stage)) {
    let (Some(chromium), Some(chromedriver)) = (program("chromium"), program("chromedriver"))
    else {
        let missing =
            "the tests of the page need Chromium: apt-get install chromium chromium-driver";
        let is_required = std::env::var(REQUIRED).is_ok_and(|value| value == "required");
        assert!(!is_required, "{missing}");
        eprintln!("skipped: {missing}");
        return;
    };
    let bench = Bench::with(config).await;
    let browser = Browser::new(Driver::start(&chromedriver, &chromium).await);
    let stage = Stage { bench, browser };
    stage.browser.open(stage.bench.sim.control_url()).await;
    stage.browser.wait("document.querySelector('#live').dataset.live === 'yes'").await;
    let played = AssertUnwindSafe(scene(&stage)).catch_unwind().await;
    stage.browser.quit().await;
    if let Err(panic) = played {
        resume_unwind(panic);
    }
}

/// Finds a program in the directories of `PATH`.
fn program(name: &str) -> Option<String> {
    let directories = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| Path::is_file(path));
    found.and_then(|path| path.to_str().map(str::to_owned))
}
