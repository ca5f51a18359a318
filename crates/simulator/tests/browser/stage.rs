//! A running simulator with its page open in a browser, separate for each test.

use imagekiln_simulator::Config;
use imagekiln_testbed::{
    Requirement, Runtime, Trial,
    browser::{BROWSER, Browser},
    name_of,
};

use super::bench::Bench;

pub struct Stage<'a> {
    pub bench: Bench,
    pub browser: &'a Browser,
}

impl Stage<'_> {
    /// Goes to a place of the page, such as `faults` and `tasks/ID`, and waits until something
    /// matches `selector`.
    pub async fn show(&self, place: &str, selector: &str) {
        self.browser.run(&format!("location.hash = '#/{place}'")).await;
        self.browser.wait(&format!("document.querySelector(\"{selector}\")")).await;
    }

    /// Keeps what the page copies in `window.copied`, instead of the clipboard.
    pub async fn catch_copies(&self) {
        let script = "navigator.clipboard.writeText = async (text) => { window.copied = text; }";
        self.browser.run(script).await;
    }

    /// Opens what is closed in the visible section, and what only a narrow screen hides.
    pub async fn unfold(&self) {
        let script = "const all = (selector) => [...document.querySelectorAll(selector)];
             all('main details').forEach((one) => one.open = true);
             all('.unfold[aria-expanded=false]').forEach((one) => one.click());";
        self.browser.run(script).await;
    }

    /// Sends the example request of an operation in the documentation. The viewer shows the button
    /// for a moment without the body, and then sends nothing.
    pub async fn try_out(&self, operation: &str) {
        self.browser.click(&format!("{operation} button.opblock-summary-control")).await;
        self.browser
            .wait(&format!("document.querySelector(\"{operation} textarea\")?.value"))
            .await;
        self.browser.click(&format!("{operation} button.execute")).await;
    }

    /// Chooses a value of a control in the visible section.
    pub async fn choose(&self, name: &str, value: &str) {
        let script = format!(
            "const control = [...document.querySelectorAll('main [name={name}]')]
                 .find((one) => one.checkVisibility());
             control.value = '{value}';
             control.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        );
        self.browser.run(&script).await;
    }
}

/// Creates a test from a scene that it runs on a stage.
pub fn test<S>(config: Config, scene: S) -> Trial
where
    S: AsyncFnOnce(&Stage<'_>) + Send + 'static,
{
    test_with(&[BROWSER], config, scene)
}

/// Creates a test that needs more than a browser.
pub fn test_with<S>(requirements: &'static [Requirement], config: Config, scene: S) -> Trial
where
    S: AsyncFnOnce(&Stage<'_>) + Send + 'static,
{
    imagekiln_testbed::test(name_of(&scene), requirements, Runtime::CurrentThread, async || {
        Browser::with_reused(async |browser| {
            let token = config.control_token.clone();
            let stage = Stage { bench: Bench::with(config).await, browser };
            let page = stage.bench.sim.control_url();
            match token {
                Some(token) => browser.open(&format!("{page}/?token={}", token.expose())).await,
                None => browser.open(page).await,
            }
            browser.wait("document.querySelector('#live').dataset.live === 'yes'").await;
            scene(&stage).await;
        })
        .await;
    })
}
