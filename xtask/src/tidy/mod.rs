//! The rules of the house that no linter checks, for all crates.

mod circles;
mod files;
pub mod sources;

use anyhow::Result;

use self::sources::{CRATES, Source};
use crate::repository;

/// Returns the violations of rules, each with its place and advice.
pub fn problems() -> Result<Vec<String>> {
    let sources = sources::read()?;
    let mut problems: Vec<_> = sources.iter().flat_map(files::problems).collect();
    for folder in CRATES {
        let of_crate: Vec<&Source> =
            sources.iter().filter(|source| source.crate_folder() == Some(folder)).collect();
        for circle in circles::of_crate(folder, &of_crate)? {
            let imports = circle.imports.join("\n  ");
            let advice = "move what both parts need to one that both can import";
            problems.push(format!("{}: import circle; {advice}\n  {imports}", circle.folder));
        }
    }
    for path in sources::files(&["*.js", "*.css", ":!crates/simulator/page/vendor"])? {
        problems.extend(files::wide_lines(&path, &repository::read(&path)?));
    }
    Ok(problems)
}
