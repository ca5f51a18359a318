//! The version that a release demands.

use std::collections::BTreeSet;

use semver::{BuildMetadata, Prerelease, Version};
use serde_json::Value;

use super::compare::{Change, Difference, Effect, Mark};
use crate::outline;

/// The requirement on a release after `released` with these changes.
pub struct Release {
    pub released: Version,
    pub demanded: Version,
    pub effect: Effect,
    /// The version of the next release; `None` if it is not checked.
    pub workspace: Option<Version>,
}

impl Release {
    /// The release with these differences; without any, the released version is good enough.
    pub fn new(released: Version, workspace: Option<Version>, differences: &[Difference]) -> Self {
        let effect = differences.iter().map(|difference| difference.rust).max();
        let demanded = effect.map_or(released.clone(), |effect| demanded(&released, effect));
        Self { released, demanded, effect: effect.unwrap_or(Effect::None), workspace }
    }

    /// Whether the workspace has a version that is too low. A pre-release of the demanded version
    /// is high enough.
    pub fn is_too_low(&self) -> bool {
        self.workspace.as_ref().is_some_and(|version| {
            let (pre, build) = (Prerelease::EMPTY, BuildMetadata::EMPTY);
            Version { pre, build, ..version.clone() } < self.demanded
        })
    }
}

/// The lowest version after `released` for changes with this effect, as Cargo understands versions.
fn demanded(released: &Version, effect: Effect) -> Version {
    let Version { major, minor, patch, .. } = *released;
    match (major, effect) {
        (0, Effect::Breaking) => Version::new(0, minor + 1, 0),
        (_, Effect::Breaking) => Version::new(major + 1, 0, 0),
        (1.., Effect::Additive) => Version::new(major, minor + 1, 0),
        _ => Version::new(major, minor, patch + 1),
    }
}

/// The differences between the types that the generator makes of two documents, to demand no less
/// than they do. A document of an older version may not be valid today: then there is nothing to
/// compare.
pub fn generated(from: &Value, to: &Value) -> Vec<Difference> {
    let lines = |document: &Value| {
        let types = outline::types_of(&document.to_string()).ok()?;
        let lines = types.lines.into_iter().flat_map(|(name, lines)| {
            // Without the note that the type is deprecated.
            let name = name.split(" (").next().unwrap_or_default().to_owned();
            lines.into_iter().map(move |line| (name.clone(), line.trim().to_owned()))
        });
        Some(lines.collect::<BTreeSet<_>>())
    };
    let (Some(from), Some(to)) = (lines(from), lines(to)) else { return Vec::new() };
    let difference = |name: &str, change: Change, rust: Effect| Difference {
        operations: vec![name.to_owned()],
        place: None,
        change,
        mark: Mark::Compatible,
        rust,
    };
    let removed = from.difference(&to).map(|(name, what)| {
        difference(name, Change::Removed { what: what.clone() }, Effect::Breaking)
    });
    let added = to.difference(&from).map(|(name, what)| {
        difference(name, Change::Added { what: what.clone() }, Effect::Additive)
    });
    removed.chain(added).collect()
}
