//! The npm packages: one for each platform with the program, and one that depends on all of them
//! and starts the program of the platform that it is installed on.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::{
    PLATFORMS, Platform, about,
    archive::{self, File},
};
use crate::repository;

const FOLDER: &str = "packaging/npm";

/// Returns the package with the launcher and the helpers for tests.
pub fn launcher(version: &str) -> Result<Vec<u8>> {
    let mut files = about()?;
    files.push(File::new("kiln.d.ts", repository::read("docs/kiln.d.ts")?));
    let folder = repository::root()?.join(FOLDER);
    for entry in fs::read_dir(&folder).with_context(|| format!("could not read {FOLDER}"))? {
        let name = entry?.file_name().into_string().ok().context("a name is not Unicode")?;
        let content = repository::read(&format!("{FOLDER}/{name}"))?;
        files.push(match &*name {
            "package.json" => File::new(name, launcher_manifest(&content, version)?.to_string()),
            "kiln.js" => File::program(name, content),
            _ => File::new(name, content),
        });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    package(&files)
}

/// Returns the package with the program for a platform.
pub fn of_platform(platform: &Platform, program: &[u8], version: &str) -> Result<Vec<u8>> {
    let manifest = platform_manifest(&main_manifest()?, platform, version);
    let mut files = about()?;
    files.push(File::new("package.json", manifest.to_string()));
    files.push(File::program(platform.program(), program));
    package(&files)
}

fn package(files: &[File]) -> Result<Vec<u8>> {
    archive::gzip(&archive::tar("package/", files)?)
}

fn main_manifest() -> Result<Value> {
    parse(&repository::read(&format!("{FOLDER}/package.json"))?)
}

fn parse(text: &str) -> Result<Value> {
    serde_json::from_str(text).with_context(|| format!("{FOLDER}/package.json is not JSON"))
}

/// Adds what depends on the version and the platforms.
fn launcher_manifest(text: &str, version: &str) -> Result<Value> {
    let mut manifest = parse(text)?;
    manifest["version"] = version.into();
    let packages = PLATFORMS.iter().map(|platform| (platform.npm_name(), version.into()));
    manifest["optionalDependencies"] = packages.collect::<Map<_, _>>().into();
    Ok(manifest)
}

fn platform_manifest(main: &Value, platform: &Platform, version: &str) -> Value {
    let (os, cpu) = platform.npm;
    json!({
        "name": platform.npm_name(),
        "version": version,
        "description": format!("kiln for {}; install {} instead", platform.target, main["name"]),
        "license": main["license"],
        "repository": main["repository"],
        "os": [os],
        "cpu": [cpu],
        "preferUnplugged": true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_depends_on_the_package_of_each_platform() {
        let text = main_manifest().unwrap().to_string();
        let manifest = launcher_manifest(&text, "1.2.3").unwrap();
        let packages = manifest["optionalDependencies"].as_object().unwrap();
        assert_eq!(packages.len(), PLATFORMS.len());
        let launcher = repository::read("packaging/npm/binary.js").unwrap();
        for platform in &PLATFORMS {
            let package = platform_manifest(&manifest, platform, "1.2.3");
            assert_eq!(packages[package["name"].as_str().unwrap()], package["version"]);
            // The launcher makes the name from the names that Node.js has for the platform.
            let (os, cpu) = (&package["os"][0], &package["cpu"][0]);
            let name = format!("imagekiln-cli-{}-{}", os.as_str().unwrap(), cpu.as_str().unwrap());
            assert_eq!(package["name"], name);
            assert!(launcher.contains(&format!("\"{}\"", platform.program())), "{name}");
        }
        assert!(launcher.contains("`imagekiln-cli-${process.platform}-${process.arch}`"));
    }
}
