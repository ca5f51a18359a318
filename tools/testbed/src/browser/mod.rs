//! A browser from a user's point of view: URLs, keys, and what is visible.

mod axe;
mod driver;
mod program;

use std::{
    mem,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt as _, future::join_all};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::driver::Driver;
pub use self::{
    axe::{AXE, assert_accessible},
    program::BROWSER,
};

/// The Tab key.
pub const TAB: &str = "\u{e004}";
/// The Enter key.
pub const ENTER: &str = "\u{e007}";
/// The Escape key.
pub const ESCAPE: &str = "\u{e00c}";
/// The left arrow key.
pub const LEFT: &str = "\u{e012}";
/// The right arrow key.
pub const RIGHT: &str = "\u{e014}";
/// The arrow key that points down.
pub const DOWN: &str = "\u{e015}";
/// The End key.
pub const END: &str = "\u{e010}";

/// The browsers that wait for their next scene.
static IDLE: Mutex<Vec<Driver>> = Mutex::new(Vec::new());

/// More of them at once would wait for processors, and each takes a second of one to start.
static SCENES: Semaphore = Semaphore::const_new(4);

fn idle() -> MutexGuard<'static, Vec<Driver>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn start() -> Driver {
    let program = |name| program::find(name).unwrap_or_else(|| panic!("{name} is missing"));
    Driver::start(&program(program::DRIVER), &program(program::CHROMIUM)).await
}

/// Ends the browsers that wait for another scene.
pub(crate) async fn quit_idle() {
    let drivers = mem::take(&mut *idle());
    join_all(drivers.into_iter().map(async |driver| driver.continued().quit().await)).await;
}

/// A headless browser with its own empty profile.
pub struct Browser {
    driver: Driver,
}

impl Browser {
    /// Runs `scene` in a new browser, and ends the browser even if `scene` panics.
    ///
    /// # Panics
    ///
    /// If [`BROWSER`] is missing.
    pub async fn with<T>(scene: impl AsyncFnOnce(&Self) -> T) -> T {
        let browser = Self { driver: start().await };
        let played = AssertUnwindSafe(scene(&browser)).catch_unwind().await;
        browser.driver.quit().await;
        played.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Runs `scene` in a browser that earlier scenes may have used, because starting one takes most
    /// of the time of a short scene. Nothing of an earlier scene is left but the process. The
    /// browser ends with the tests of [`run`](crate::run), or if `scene` panics.
    ///
    /// # Panics
    ///
    /// If [`BROWSER`] is missing.
    pub async fn with_reused<T>(scene: impl AsyncFnOnce(&Self) -> T) -> T {
        let _permit = SCENES.acquire().await;
        let used = idle().pop();
        let driver = match used {
            Some(driver) => driver.continued(),
            None => start().await,
        };
        let browser = Self { driver };
        let played = AssertUnwindSafe(scene(&browser)).catch_unwind().await;
        match played {
            Ok(played) => {
                browser.forget().await;
                idle().push(browser.driver);
                played
            }
            Err(panic) => {
                browser.driver.quit().await;
                resume_unwind(panic)
            }
        }
    }

    /// Leaves the page, and undoes what a scene can change.
    async fn forget(&self) {
        self.run("localStorage.clear(); sessionStorage.clear();").await;
        self.open("about:blank").await;
        for command in [
            "Network.clearBrowserCookies",
            "Network.clearBrowserCache",
            "Emulation.clearDeviceMetricsOverride",
        ] {
            self.devtools(command, json!({})).await;
        }
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": [] })).await;
        self.problems().await;
        self.requests().await;
    }

    /// Opens a page and waits until it is loaded.
    pub async fn open(&self, url: &str) {
        self.driver.post("url", &json!({ "url": url })).await;
    }

    /// Runs a function body in the page and returns its result.
    pub async fn run(&self, script: &str) -> Value {
        self.driver.post("execute/sync", &json!({ "script": script, "args": [] })).await
    }

    /// Waits until `condition` is truthy in the page, up to the session's timeout, and returns its
    /// value.
    pub async fn wait(&self, condition: &str) -> Value {
        let script = format!(
            "const done = arguments[0];
             const look = () => {{
                 const found = (() => ({condition}))();
                 found ? done(found) : setTimeout(look, 20);
             }};
             look();"
        );
        self.driver.post("execute/async", &json!({ "script": script, "args": [] })).await
    }

    /// Presses and releases each key.
    pub async fn press(&self, keys: &[&str]) {
        let actions: Vec<_> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let actions =
            json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] });
        self.driver.post("actions", &actions).await;
    }

    /// Presses Tab until the focused element matches `selector`.
    pub async fn tab_to(&self, selector: &str) {
        for _ in 0..60 {
            if self.run(&format!("return document.activeElement.matches({selector:?})")).await
                == true
            {
                return;
            }
            self.press(&[TAB]).await;
        }
        panic!("the Tab key does not reach {selector}");
    }

    /// Clicks the element that `selector` matches.
    pub async fn click(&self, selector: &str) {
        self.wait(&format!("document.querySelector({selector:?})")).await;
        self.run(&format!("document.querySelector({selector:?}).click()")).await;
    }

    /// Sends a command of the Chrome DevTools protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.driver.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).await
    }

    /// Sets the colour scheme that the user prefers: `light` or `dark`.
    pub async fn prefer(&self, colours: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": colours }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features })).await;
    }

    /// Sets the size of the page's viewport in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Warnings and errors of the page and the browser since the last call.
    pub async fn problems(&self) -> Vec<String> {
        let log = self.driver.post("se/log", &json!({ "type": "browser" })).await;
        let entries = log.as_array().expect("the log is not a list").iter();
        entries
            .filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING")
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    /// All URLs requested since the last call, according to the browser's network log, except those
    /// of its initial page.
    pub async fn requests(&self) -> Vec<String> {
        let log = self.driver.post("se/log", &json!({ "type": "performance" })).await;
        let entries = log.as_array().expect("the log is not a list").iter();
        entries
            .filter_map(|entry| serde_json::from_str::<Value>(entry["message"].as_str()?).ok())
            .filter(|entry| entry["message"]["method"] == "Network.requestWillBeSent")
            .map(|mut entry| entry["message"]["params"].take())
            .filter(|request| {
                !request["documentURL"].as_str().is_some_and(|page| page.starts_with("chrome://"))
            })
            .filter_map(|request| request["request"]["url"].as_str().map(str::to_owned))
            .collect()
    }
}
