//! `cargo xtask packages`: the packages as they are uploaded.

mod blocks;
mod edition;

use std::{
    fs,
    path::{self, Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use semver::Version;

use self::edition::Page;
use crate::{
    binary,
    process::{cargo, command, output, succeed, without_ci},
    repository,
};

/// A crate that is published.
pub struct Package {
    pub name: &'static str,
    /// Its folder in the repository, with a slash, or nothing for the root.
    folder: &'static str,
    /// What its own tests need: features, and development dependencies that are not published.
    features: &'static str,
    testbed: &'static [&'static str],
}

impl Package {
    fn test_features(&self) -> impl Iterator<Item = String> {
        let names = self.features.split(',').filter(|name| !name.is_empty());
        names.map(|name| format!("{}/{name}", self.name))
    }
}

/// Each depends on those before it only.
pub const PUBLISHED: [Package; 4] = [
    Package {
        name: "imagekiln-simulator",
        folder: "simulator/",
        features: "",
        testbed: &["testbed"],
    },
    Package {
        name: "imagekiln",
        folder: "",
        features: "axum,blocking,metrics,schemars",
        testbed: &["testbed", "simulator"],
    },
    Package {
        name: "imagekiln-batch",
        folder: "batch/",
        features: "axum,files,postgres,s3,sheet",
        testbed: &["testbed", "simulator"],
    },
    Package {
        name: "imagekiln-cli",
        folder: "cli/",
        features: "postgres,s3",
        testbed: &["testbed"],
    },
];

/// The copy of the repository that is uploaded, with the registry edition of its pages.
pub const COPY: &str = "target/registry";

/// Packs the crates from a copy of the repository whose pages are for the readers of the registry,
/// unpacks them elsewhere, builds and tests them there, and makes the README's picture
#[derive(Args)]
pub struct Arguments {
    /// Only pack them, and unpack them into a folder in this new folder, for example `imagekiln`
    #[arg(long, value_name = "FOLDER")]
    unpack: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let copy = copy(&root)?;
    let version = self::version(&repository::read("Cargo.toml")?)?.to_string();
    let packed = pack(&copy, &version)?;
    if let Some(folder) = &arguments.unpack {
        unpack(&packed, &path::absolute(folder)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    unpack(&packed, folder.path())?;
    test(&root, folder.path())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the version of the workspace.
pub fn version(manifest: &str) -> Result<Version> {
    let stated = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    let stated = stated.context("Cargo.toml states no version of the workspace")?;
    Version::parse(stated.trim_matches('"'))
        .context("the version of the workspace is not a version")
}

/// Copies what Git knows, or would add, with changes that are not committed.
pub fn copy(root: &Path) -> Result<PathBuf> {
    let copy = root.join(COPY);
    if copy.exists() {
        fs::remove_dir_all(&copy).with_context(|| format!("could not remove {COPY}"))?;
    }
    let list = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    for path in output(&mut command(root, &list))?.split_terminator('\0') {
        let (from, to) = (root.join(path), copy.join(path));
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(&copy))?;
            fs::copy(&from, &to).with_context(|| format!("could not copy {path}"))?;
        }
    }
    Ok(copy)
}

/// Rewrites the pages of the copy, and packs its crates. Returns the packages.
pub fn pack(copy: &Path, version: &str) -> Result<Vec<PathBuf>> {
    for path in pages(copy)? {
        let page = Page { path: &path, version };
        let file = copy.join(&path);
        let edition = page.edition(&fs::read_to_string(&file)?);
        let problems = page.problems(&edition);
        ensure!(problems.is_empty(), "not for the registry:\n{}", problems.join("\n"));
        fs::write(&file, edition).with_context(|| format!("could not write {path}"))?;
    }
    for package in &PUBLISHED {
        let file = copy.join(package.folder).join("Cargo.toml");
        let manifest = fs::read_to_string(&file)?;
        fs::write(&file, Page { path: "Cargo.toml", version }.pinned(&manifest))?;
    }
    let target = copy.join("target");
    let mut pack = cargo(copy, &["package", "--no-verify"]);
    pack.args(PUBLISHED.map(|package| format!("--package={}", package.name)));
    succeed(pack.arg("--target-dir").arg(&target))?;
    let name = |package: &Package| format!("package/{}-{version}.crate", package.name);
    Ok(PUBLISHED.iter().map(|package| target.join(name(package))).collect())
}

/// Returns the pages of the packages: READMEs, the changelog, and the chapters of rustdoc.
fn pages(root: &Path) -> Result<Vec<String>> {
    let mut pages = vec!["CHANGELOG.md".to_owned()];
    let mut folders = Vec::new();
    for Package { folder, .. } in &PUBLISHED {
        pages.push(format!("{folder}README.md"));
        folders.push(format!("{folder}src"));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    Ok(pages)
}

fn unpack(packed: &[PathBuf], folder: &Path) -> Result<()> {
    for (package, file) in PUBLISHED.iter().zip(packed) {
        let target = folder.join(package.name);
        fs::create_dir_all(&target)?;
        let mut tar = command(folder, &["tar", "-xzf"]);
        succeed(tar.arg(file).args(["--strip-components=1", "-C"]).arg(&target))?;
    }
    Ok(())
}

/// Builds the unpacked crates, makes a picture with `kiln`, and runs the tests of the crates.
fn test(root: &Path, folder: &Path) -> Result<()> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let profiles = manifest.find("[profile.").map_or("", |start| &manifest[start..]);
    let names = PUBLISHED.map(|package| format!("{:?}", package.name)).join(", ");
    let patches = PUBLISHED.map(|Package { name, .. }| format!("{name} = {{ path = {name:?} }}\n"));
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{names}]\n\n[patch.crates-io]\n{}\n{profiles}",
        patches.concat()
    );
    fs::write(folder.join("Cargo.toml"), workspace)?;
    let target = root.join("target");
    let run = |words: &[&str]| {
        // The same versions as in the repository, and the compiled dependencies of its tests.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
        let mut cargo = cargo(folder, words);
        succeed(without_ci(&mut cargo).env("CARGO_TARGET_DIR", &target))
    };
    run(&["build", "--workspace"])?;
    let made = folder.join("made");
    fs::create_dir(&made)?;
    binary::check_picture(Command::new(target.join("debug/kiln")), &made)?;
    // What the tests compare the code with, beside the packages as in the repository.
    let link =
        |folder: &Path| succeed(command(folder, &["ln", "-s"]).arg(root.join("docs")).arg("docs"));
    link(folder)?;
    for package in &PUBLISHED {
        link(&folder.join(package.name))?;
        add_dependencies(root, folder, package)?;
    }
    let features: Vec<_> = PUBLISHED.iter().flat_map(Package::test_features).collect();
    run(&["test", "--workspace", "--no-fail-fast", "--features", &features.join(",")])
}

/// Adds development dependencies that Cargo has removed, because they are not published.
fn add_dependencies(root: &Path, folder: &Path, package: &Package) -> Result<()> {
    let path = folder.join(package.name).join("Cargo.toml");
    let mut manifest = fs::read_to_string(&path)?;
    for name in package.testbed {
        let source = match *name {
            "testbed" => root.join("testbed"),
            name => folder.join(format!("imagekiln-{name}")),
        };
        manifest += &format!("\n[dev-dependencies.imagekiln-{name}]\npath = {source:?}\n");
    }
    fs::write(&path, manifest).with_context(|| format!("could not write {}", path.display()))
}

#[cfg(test)]
mod tests;
