//! The changes of our document since a release, and the version that they demand.

use std::{
    collections::BTreeSet,
    fmt::{self, Write as _},
};

use semver::{BuildMetadata, Prerelease, Version};
use serde_json::Value;

use super::report::harmless;
use crate::{contract::joined, outline};

/// The longest value that is shown whole.
const SHOWN: usize = 60;

/// The effect on users of the crate, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// The API stays the same.
    None,
    /// Code that uses the crate still compiles.
    Additive,
    /// Code that uses the crate may not compile.
    Breaking,
}

/// The requirement on a release after `released` with these changes.
pub struct Release {
    released: Version,
    workspace: Version,
    /// The values that differ, with their JSON pointers.
    values: Vec<String>,
    /// The lines of the generated types that differ.
    types: Vec<(Effect, String)>,
}

impl Release {
    pub fn new(from: &Value, to: &Value, released: Version, workspace: Version) -> Self {
        let mut values = Vec::new();
        compare(from, to, "", &mut values);
        Self { released, workspace, values, types: types(from, to) }
    }

    fn effect(&self) -> Effect {
        self.types.iter().map(|(effect, _)| *effect).max().unwrap_or(Effect::None)
    }

    /// The lowest version after `released` for these changes, as Cargo understands versions.
    fn demanded(&self) -> Version {
        let Version { major, minor, patch, .. } = self.released;
        match (major, self.effect()) {
            _ if self.values.is_empty() && self.types.is_empty() => self.released.clone(),
            (0, Effect::Breaking) => Version::new(0, minor + 1, 0),
            (_, Effect::Breaking) => Version::new(major + 1, 0, 0),
            (1.., Effect::Additive) => Version::new(major, minor + 1, 0),
            _ => Version::new(major, minor, patch + 1),
        }
    }

    /// Whether the workspace has a version that is too low. A pre-release of the demanded version
    /// is high enough.
    pub fn is_too_low(&self) -> bool {
        let (pre, build) = (Prerelease::EMPTY, BuildMetadata::EMPTY);
        Version { pre, build, ..self.workspace.clone() } < self.demanded()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (demanded, released, workspace) = (self.demanded(), &self.released, &self.workspace);
        let mut text = format!("Changes of the contract since {released}:\n");
        self.values.iter().try_for_each(|line| writeln!(text, "  {line}"))?;
        writeln!(text, "\nChanges of the Rust API:")?;
        self.types.iter().try_for_each(|(_, line)| writeln!(text, "  {line}"))?;
        let reason = match self.effect() {
            Effect::Breaking => "the Rust API breaks",
            Effect::Additive => "the Rust API grows",
            Effect::None => "the Rust API stays the same",
        };
        writeln!(text, "\nA release with these changes demands {demanded}: {reason}")?;
        let verdict = if self.is_too_low() {
            format!("too low: set it to {demanded} or higher in Cargo.toml")
        } else {
            "high enough".to_owned()
        };
        writeln!(text, "The version {workspace} of the workspace is {verdict}")?;
        f.write_str(&harmless(&text))
    }
}

/// Adds a line for each value that differs. Nothing is overlooked, except the order of members.
fn compare(from: &Value, to: &Value, pointer: &str, lines: &mut Vec<String>) {
    let shown = |value: &Value| {
        let text = value.to_string();
        if text.chars().count() <= SHOWN {
            return text;
        }
        text.chars().take(SHOWN).collect::<String>() + "..."
    };
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for (key, value) in from {
                match to.get(key) {
                    Some(other) => compare(value, other, &joined(pointer, key), lines),
                    None => {
                        lines.push(format!("removed {}: {}", joined(pointer, key), shown(value)))
                    }
                }
            }
            for (key, value) in to.iter().filter(|(key, _)| !from.contains_key(*key)) {
                lines.push(format!("added {}: {}", joined(pointer, key), shown(value)));
            }
        }
        (Value::Array(from), Value::Array(to)) if from.len() == to.len() => {
            for (index, (from, to)) in from.iter().zip(to).enumerate() {
                compare(from, to, &joined(pointer, &index.to_string()), lines);
            }
        }
        (from, to) if from == to => {}
        (from, to) => lines.push(format!("{pointer}: {} -> {}", shown(from), shown(to))),
    }
}

/// The differences between the types that the generator makes of two documents.
fn types(from: &Value, to: &Value) -> Vec<(Effect, String)> {
    let lines = |document: &Value| {
        let types = outline::types_of(&document.to_string()).ok()?;
        let lines = types.lines.into_iter().flat_map(|(name, lines)| {
            // Without the note that the type is deprecated.
            let name = name.split(" (").next().unwrap_or_default().to_owned();
            lines.into_iter().map(move |line| format!("{name}: {}", line.trim()))
        });
        Some(lines.collect::<BTreeSet<_>>())
    };
    let (Some(from), Some(to)) = (lines(from), lines(to)) else {
        let line = "unknown: one of the documents does not generate types";
        return vec![(Effect::Breaking, line.to_owned())];
    };
    let removed = from.difference(&to).map(|it| (Effect::Breaking, format!("breaking: no {it}")));
    let added = to.difference(&from).map(|it| (Effect::Additive, format!("additive: {it}")));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_demands_a_version() {
        for (effect, released, demanded) in [
            (Some(Effect::Breaking), "0.1.2", "0.2.0"),
            (Some(Effect::Additive), "0.1.2", "0.1.3"),
            (Some(Effect::None), "0.1.2", "0.1.3"),
            (Some(Effect::Breaking), "1.1.2", "2.0.0"),
            (Some(Effect::Additive), "1.1.2", "1.2.0"),
            (Some(Effect::None), "1.1.2", "1.1.3"),
            (None, "0.1.2", "0.1.2"),
        ] {
            let release = |workspace: &str| {
                let [released, workspace] =
                    [released, workspace].map(|version| Version::parse(version).unwrap());
                let values = effect.map(|_| "/info/title".to_owned()).into_iter().collect();
                let types = effect.map(|effect| (effect, String::new())).into_iter().collect();
                Release { released, workspace, values, types }
            };
            assert_eq!(release("0.1.0").demanded().to_string(), demanded);
            assert!(release("0.1.0").is_too_low());
            for enough in [demanded, &format!("{demanded}-rc.1"), "7.0.0"] {
                assert!(!release(enough).is_too_low(), "{enough}");
            }
        }
    }

    #[test]
    fn every_kind_of_value_is_compared() {
        let document = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let from = document(r#"{"a": {"b": 1, "c": [1, 2]}, "d": [1], "e": true}"#);
        let to = document(r#"{"a": {"b": 2, "c": [1, 3]}, "d": [1, 1], "f": null}"#);
        let mut lines = Vec::new();
        compare(&from, &to, "", &mut lines);
        let expected = [
            "/a/b: 1 -> 2",
            "/a/c/1: 2 -> 3",
            "/d: [1] -> [1,1]",
            "removed /e: true",
            "added /f: null",
        ];
        assert_eq!(lines, expected);
    }
}
