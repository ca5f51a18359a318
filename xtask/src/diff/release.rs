//! The version that a release demands.

use anyhow::Context;
use semver::{BuildMetadata, Prerelease, Version};

use super::{difference::Difference, rust_api::Effect};
use crate::repository;

const MANIFEST: &str = "Cargo.toml";

/// The version of the workspace.
pub fn workspace_version() -> anyhow::Result<Version> {
    version_in(&repository::read(MANIFEST)?).with_context(|| MANIFEST)
}

pub fn version_in(manifest: &str) -> anyhow::Result<Version> {
    let mut lines = manifest.lines().map(str::trim);
    let in_section = lines.by_ref().skip_while(|line| *line != "[workspace.package]").skip(1);
    let section = in_section.take_while(|line| !line.starts_with('['));
    let values = section.filter_map(|line| line.split_once('='));
    let version = values.filter(|(key, _)| key.trim() == "version").map(|(_, value)| value).next();
    let version = version.context("`version` of `[workspace.package]` is missing")?;
    let version = version.split('#').next().unwrap_or_default().trim().trim_matches('"');
    Version::parse(version).with_context(|| format!("`{version}` is not a version"))
}

/// The lowest version after `released` for changes with this effect, as Cargo understands versions.
pub fn demanded(released: &Version, effect: Effect) -> Version {
    let Version { major, minor, patch, .. } = *released;
    match (major, effect) {
        (0, Effect::Breaking) => Version::new(0, minor.saturating_add(1), 0),
        (_, Effect::Breaking) => Version::new(major.saturating_add(1), 0, 0),
        (1.., Effect::Additive) => Version::new(major, minor.saturating_add(1), 0),
        _ => Version::new(major, minor, patch.saturating_add(1)),
    }
}

/// Whether the version is high enough. A pre-release of the demanded version is, too.
pub fn suffices(version: &Version, demanded: &Version) -> bool {
    let released =
        Version { pre: Prerelease::EMPTY, build: BuildMetadata::EMPTY, ..version.clone() };
    released >= *demanded
}

/// What a release after `released` with these changes demands.
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
        let effects = differences.iter().map(|difference| difference.finding.rust);
        let effect = effects.max();
        let demanded = effect.map_or(released.clone(), |effect| demanded(&released, effect));
        Self { released, demanded, effect: effect.unwrap_or(Effect::None), workspace }
    }

    /// Whether the workspace has a version that is too low.
    pub fn is_too_low(&self) -> bool {
        self.workspace.as_ref().is_some_and(|version| !suffices(version, &self.demanded))
    }
}
