//! Formats the result of a comparison.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    compare::Comparison,
    difference::Mark,
    group::{self, Group},
    release::Release,
    row::rows,
    rust_api::Effect,
};

/// A comparison, and what the report says about it.
pub struct Report<'a> {
    /// The names of the two documents.
    pub from: &'a str,
    pub to: &'a str,
    pub comparison: &'a Comparison,
    /// Operations that only one document has are counted, and are not differences.
    pub only_common: bool,
    pub release: &'a Release,
}

impl Report<'_> {
    /// Text of about one screen: one line for each change.
    pub fn text(&self) -> String {
        let groups = group::by_finding(&self.comparison.differences);
        let mut text = if groups.is_empty() {
            "No differences.\n".to_owned()
        } else {
            format!("Changes from {} to {}\n", self.from, self.to)
        };
        let rows = rows(&groups);
        for (mark, title) in [(Mark::Breaking, "Breaking"), (Mark::Compatible, "Compatible")] {
            let mut rows = rows.iter().filter(|row| row.first.mark == mark).peekable();
            if rows.peek().is_some() {
                text.push_str(&format!("\n{title} for callers of the service:\n"));
            }
            for row in rows {
                text.push_str(&format!("{}\n", row.text(&self.comparison.common)));
            }
        }
        text.push_str(&self.summary(&groups));
        // Names come from the document, and must not control the terminal.
        let harmless = |character: char| character == '\n' || !character.is_control();
        text.chars().map(|character| if harmless(character) { character } else { '?' }).collect()
    }

    fn summary(&self, groups: &[Group]) -> String {
        let mut summary = String::new();
        if !groups.is_empty() {
            let operations = groups.iter().flat_map(|group| &group.operations);
            let operations = match operations.collect::<BTreeSet<_>>().len() {
                1 => "1 operation differs".to_owned(),
                several => format!("{several} operations differ"),
            };
            let breaking = count_breaking(groups);
            let compatible = groups.len() - breaking;
            summary = format!("\n{operations}: {breaking} breaking, {compatible} compatible\n");
        }
        if self.only_common {
            let Comparison { common, only_from, only_to, .. } = self.comparison;
            summary.push_str(&format!(
                "{} operations compared; {only_from} only in {}, {only_to} only in {}\n",
                common.len(),
                self.from,
                self.to
            ));
        }
        if !groups.is_empty() {
            summary.push_str(&self.demand());
        }
        summary + &self.verdict()
    }

    fn demand(&self) -> String {
        let Release { released, demanded, effect, .. } = self.release;
        let reason = match effect {
            Effect::Breaking => "the Rust API breaks",
            Effect::Additive => "the Rust API grows",
            Effect::None => "the Rust API stays the same",
        };
        format!("A release with these changes demands {demanded} (from {released}): {reason}\n")
    }

    fn verdict(&self) -> String {
        let Release { demanded, workspace, .. } = self.release;
        match workspace {
            None => String::new(),
            Some(version) if self.release.is_too_low() => format!(
                "The version {version} of the workspace is too low: set it to {demanded} or higher \
                 in Cargo.toml\n"
            ),
            Some(version) => format!("The version {version} of the workspace is high enough\n"),
        }
    }

    /// JSON: a single object. Nothing is shortened.
    pub fn json(&self) -> serde_json::Result<String> {
        let Comparison { differences, common, only_from, only_to } = self.comparison;
        let groups = group::by_finding(differences);
        let breaking = count_breaking(&groups);
        let Release { released, demanded, effect, workspace } = self.release;
        let report = json!({
            "from": self.from,
            "to": self.to,
            "breaking": breaking,
            "compatible": groups.len() - breaking,
            "operations": {
                "common": common.len(),
                "only_from": only_from,
                "only_to": only_to,
            },
            "release": {
                "from": released.to_string(),
                "demanded": demanded.to_string(),
                "rust": effect,
                "workspace": workspace.as_ref().map(ToString::to_string),
            },
            "differences": groups,
        });
        serde_json::to_string_pretty(&report).map(|text| text + "\n")
    }
}

fn count_breaking(groups: &[Group]) -> usize {
    groups.iter().filter(|group| group.finding.mark == Mark::Breaking).count()
}
