//! The version that a release demands.

use semver::{BuildMetadata, Prerelease, Version};
use serde_json::Value;

use super::compare::{Change, Difference, Effect, Finding, Mark};
use crate::outline::{self, Types};

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
        let effect = differences.iter().map(|difference| difference.finding.rust).max();
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

/// The differences between the types that the generator makes of two documents. They show what the
/// comparison of the documents ignores: extensions such as `x-image`, and names of components. A
/// document of an older version may not be valid today: then there is nothing to compare.
pub fn generated(from: &Value, to: &Value) -> Vec<Difference> {
    let types = |document: &Value| outline::types_of(&document.to_string()).ok();
    let (Some(from), Some(to)) = (types(from), types(to)) else { return Vec::new() };
    let (from, to) = (lines(&from), lines(&to));
    let difference = |(name, place): (&str, &str), change: Change, rust: Effect| Difference {
        operation: name.to_owned(),
        finding: Finding { place: Some(place.to_owned()), change, mark: Mark::Compatible, rust },
    };
    let mut found = Vec::new();
    for ((name, place), line) in &from {
        let same = to.iter().find(|(key, _)| *key == (*name, *place));
        if same.is_none_or(|(_, other)| other != line) {
            let now = same.map_or("none", |(_, other)| other);
            let change = Change::Changed { aspect: "type", from: (*line).into(), to: now.into() };
            found.push(difference((name, place), change, Effect::Breaking));
        }
    }
    for ((name, place), line) in to {
        if !from.iter().any(|(key, _)| *key == (name, place)) {
            let change = Change::Added { what: line.into() };
            found.push(difference((name, place), change, Effect::Additive));
        }
    }
    found
}

/// The types of all members and functions, by the name of the type without the note on its
/// deprecation, and their own name.
fn lines(types: &Types) -> Vec<((&str, &str), &str)> {
    let mut all = Vec::new();
    for (heading, lines) in &types.lines {
        let name = heading.split(" (").next().unwrap_or(heading);
        for line in lines.iter().map(|line| line.trim()) {
            let (place, rest) = line.split_at(line.find([':', '(']).unwrap_or(line.len()));
            all.push(((name, place), rest.trim_start_matches(": ")));
        }
    }
    all
}
