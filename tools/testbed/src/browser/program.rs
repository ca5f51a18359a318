//! Finds the browser on this machine.

use std::env;

use crate::Requirement;

pub(super) const CHROMIUM: &str = "chromium";
pub(super) const DRIVER: &str = "chromedriver";

/// A browser, for tests of pages.
pub const BROWSER: Requirement = Requirement {
    name: "Chromium and chromedriver",
    is_present: || find(CHROMIUM).is_some() && find(DRIVER).is_some(),
    advice: "apt-get install chromium chromium-driver",
    variable: "IMAGEKILN_BROWSER_TESTS",
};

/// Finds a program in the directories of `PATH`.
pub(super) fn find(name: &str) -> Option<String> {
    let directories = env::var_os("PATH")?;
    let found = env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file());
    found.and_then(|path| path.to_str().map(str::to_owned))
}
