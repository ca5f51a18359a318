//! `cargo xtask dist`: builds packages of `kiln` that need no compiler where they are installed.

mod archive;
mod image;
mod npm;
mod strangers;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::archive::File;
use crate::{
    binary,
    process::{cargo, command, output, succeed},
    repository,
};

/// A platform for which `.github/workflows/dist.yaml` builds packages.
struct Platform {
    target: &'static str,
    /// The operating system and the processor, as Node.js names them.
    npm: (&'static str, &'static str),
    /// The tags of the wheel that maturin would not choose by itself.
    wheel: &'static [&'static str],
    /// The processor, as container images name it, if there is an image.
    image: Option<&'static str>,
}

/// A static program runs with any C library.
const ANY_LINUX: &[&str] = &["--compatibility", "manylinux2014", "musllinux_1_1"];

const PLATFORMS: [Platform; 5] = [
    Platform {
        target: "x86_64-unknown-linux-musl",
        npm: ("linux", "x64"),
        wheel: ANY_LINUX,
        image: Some("amd64"),
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        npm: ("linux", "arm64"),
        wheel: ANY_LINUX,
        image: Some("arm64"),
    },
    Platform { target: "x86_64-pc-windows-gnu", npm: ("win32", "x64"), wheel: &[], image: None },
    Platform { target: "x86_64-apple-darwin", npm: ("darwin", "x64"), wheel: &[], image: None },
    Platform { target: "aarch64-apple-darwin", npm: ("darwin", "arm64"), wheel: &[], image: None },
];

/// The largest number of bytes of a package, by the end of its name. `docs/install.md` has the
/// sizes.
const BOUNDS: [(&str, u64); 5] = [
    (".oci.tar", 11_500_000),
    (".whl", 11_500_000),
    (".tar.gz", 11_500_000),
    ("imagekiln-cli-VERSION.tgz", 12_000),
    (".tgz", 11_500_000),
];

/// The largest number of bytes of the program.
const PROGRAM_BOUND: u64 = 24_000_000;

/// Completion scripts by shell, in the folders below `share` in which the shells find them. Elvish
/// and PowerShell only read files that their user names.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "bash-completion/completions/kiln"),
    ("zsh", "zsh/site-functions/_kiln"),
    ("fish", "fish/vendor_completions.d/kiln.fish"),
    ("elvish", "kiln/kiln.elv"),
    ("powershell", "kiln/kiln.ps1"),
];

const MATURIN: &str = "maturin==1.16.0";

/// Builds the program once, and writes an archive, a Python wheel, npm packages, a container image
/// and their checksums to target/dist
#[derive(Args)]
pub struct Arguments {
    /// The platforms
    #[arg(long = "target", default_value = PLATFORMS[0].target,
        value_parser = PLATFORMS.map(|platform| platform.target))]
    targets: Vec<String>,
    /// Installs the packages for Linux in new folders as docs/testing.md and docs/install.md say,
    /// runs the tests of those pages, and prints how long it took
    #[arg(long = "try")]
    is_tried: bool,
}

impl Platform {
    fn npm_name(&self) -> String {
        format!("imagekiln-cli-{}-{}", self.npm.0, self.npm.1)
    }

    fn program(&self) -> &'static str {
        if self.npm.0 == "win32" { "kiln.exe" } else { "kiln" }
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let root = repository::root()?;
    let folder = root.join("target/dist");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("could not remove the packages of an earlier run")?;
    }
    fs::create_dir_all(&folder).context("could not create target/dist")?;
    let version = env!("CARGO_PKG_VERSION");
    let is_chosen = |platform: &&Platform| arguments.targets.iter().any(|t| t == platform.target);
    for platform in PLATFORMS.iter().filter(is_chosen) {
        build(&root, &folder, platform, version)?;
    }
    write(&folder.join(format!("imagekiln-cli-{version}.tgz")), &npm::launcher(version)?)?;
    finish(&folder, version)?;
    if arguments.is_tried {
        strangers::play(&root, &folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds the packages for a platform.
fn build(root: &Path, folder: &Path, platform: &Platform, version: &str) -> Result<()> {
    let target = platform.target;
    let path = binary::build(target, &["--release"], "release")?.with_file_name(platform.program());
    let program = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    println!("{:>11}  {}", program.len(), path.display());
    ensure!(program.len() as u64 <= PROGRAM_BOUND, "the program has over {PROGRAM_BOUND} bytes");
    if platform.image.is_some() {
        check_static(&path)?;
    }
    let runs = Command::new(&path).arg("--version").output().is_ok_and(|run| run.status.success());
    if runs {
        check_picture(&path)?;
    }
    let runnable = if runs { path.clone() } else { host_program(root)? };
    let mut files = vec![File::program(format!("bin/{}", platform.program()), &*program)];
    files.extend(about()?.into_iter().map(|file| file.below("share/doc/kiln/")));
    files.extend(completions(&runnable)?);
    files.extend(manual(&runnable)?);
    let name = format!("kiln-{version}-{target}");
    let archive = archive::gzip(&archive::tar(&format!("{name}/"), &files)?)?;
    write(&folder.join(format!("{name}.tar.gz")), &archive)?;
    let package = npm::of_platform(platform, &program, version)?;
    write(&folder.join(format!("{}-{version}.tgz", platform.npm_name())), &package)?;
    if let Some(architecture) = platform.image {
        let image = image::archive(&program, architecture, version)?;
        write(&folder.join(format!("{name}.oci.tar")), &image)?;
    }
    wheel(root, folder, platform)
}

/// Builds the wheel. maturin calls Cargo, for which there is nothing left to do.
fn wheel(root: &Path, folder: &Path, platform: &Platform) -> Result<()> {
    let tools = root.join("target/maturin");
    if !tools.join("bin/maturin").exists() && !tools.join("Scripts/maturin.exe").exists() {
        let python = if cfg!(windows) { "python" } else { "python3" };
        succeed(command(root, &[python, "-m", "venv"]).arg(&tools))?;
    }
    let programs = tools.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", MATURIN];
    succeed(Command::new(programs.join("python")).args(install))?;
    let mut maturin = Command::new(programs.join("maturin"));
    maturin.args(["build", "--release", "--locked", "--target", platform.target, "--out"]);
    maturin.arg(folder).arg("--target-dir").arg(root.join("target")).args(platform.wheel);
    maturin.env_remove("RUSTC_WORKSPACE_WRAPPER").current_dir(root.join("packaging/python"));
    succeed(&mut maturin)
}

/// Fails if a program for Linux needs a dynamic linker. Programs for other processors can be read.
fn check_static(path: &Path) -> Result<()> {
    let headers = output(Command::new("readelf").arg("--program-headers").arg(path))?;
    ensure!(!headers.contains("INTERP"), "{} is not static", path.display());
    Ok(())
}

/// Generates the README's picture without any environment and without the target folder.
fn check_picture(path: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    let kiln = folder.path().join("kiln");
    fs::copy(path, &kiln).with_context(|| format!("could not copy {}", path.display()))?;
    let mut start = Command::new(&kiln);
    start.env_clear();
    binary::check_picture(start, folder.path())
}

/// Builds the program for this machine, which writes the same completions and manual pages.
fn host_program(root: &Path) -> Result<PathBuf> {
    succeed(&mut cargo(root, &["build", "--package", "imagekiln-cli"]))?;
    Ok(root.join("target/debug/kiln"))
}

/// Returns what each package says of itself.
fn about() -> Result<Vec<File>> {
    let files = [
        ("README.md", "packaging/python/README.md"),
        ("LICENSE-APACHE", "LICENSE-APACHE"),
        ("LICENSE-MIT", "LICENSE-MIT"),
    ];
    files.into_iter().map(|(name, path)| Ok(File::new(name, repository::read(path)?))).collect()
}

fn completions(program: &Path) -> Result<Vec<File>> {
    let script = |(shell, path)| {
        let words = ["config", "completions", shell];
        Ok(File::new(format!("share/{path}"), output(Command::new(program).args(words))?))
    };
    COMPLETIONS.into_iter().map(script).collect()
}

fn manual(program: &Path) -> Result<Vec<File>> {
    let folder = tempfile::tempdir().context("could not create a temporary folder")?;
    output(Command::new(program).args(["config", "man"]).arg(folder.path()))?;
    let mut files = Vec::new();
    for entry in fs::read_dir(folder.path()).context("could not read the manual pages")? {
        let entry = entry.context("could not read the manual pages")?;
        let page = fs::read(entry.path()).context("could not read a manual page")?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push(File::new(format!("share/man/man1/{name}"), page));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    ensure!(!files.is_empty(), "the program wrote no manual pages");
    Ok(files)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("could not write {}", path.display()))
}

/// Checks the sizes, prints them, and writes the checksums.
fn finish(folder: &Path, version: &str) -> Result<()> {
    let entries = fs::read_dir(folder).context("could not read target/dist")?;
    let mut paths: Vec<_> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    let mut sums = String::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let content = fs::read(&path).with_context(|| format!("could not read {name}"))?;
        println!("{:>11}  {name}", content.len());
        let Some(bound) = bound(&name, version) else { bail!("{name} has no bound") };
        ensure!(content.len() as u64 <= bound, "{name} has over {bound} bytes");
        sums.push_str(&format!("{}  {name}\n", archive::sha256(&content)));
    }
    write(&folder.join("SHA256SUMS"), sums.as_bytes())
}

fn bound(name: &str, version: &str) -> Option<u64> {
    let is_of = |(end, _): &&(&str, u64)| name.ends_with(&end.replace("VERSION", version));
    BOUNDS.iter().find(is_of).map(|(_, bound)| *bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflow_builds_every_platform() {
        let workflow = repository::read(".github/workflows/dist.yaml").unwrap();
        let targets = workflow.lines().filter_map(|line| line.trim().strip_prefix("- target: "));
        assert_eq!(targets.collect::<Vec<_>>(), PLATFORMS.map(|platform| platform.target));
    }

    #[test]
    fn the_page_lists_every_platform() {
        let page = repository::read("docs/install.md").unwrap();
        let listed = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        assert_eq!(listed.collect::<Vec<_>>(), PLATFORMS.map(|platform| platform.target));
    }

    #[test]
    fn the_page_has_the_bounds() {
        let page = repository::read("docs/install.md").unwrap();
        let (_, table) = page.split_once("| what | MB | bound |\n|---|---|---|\n").unwrap();
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let bounds = rows.map(|row| row.split('|').nth(3).unwrap().trim().parse().unwrap());
        let bytes = |megabytes: f64| (megabytes * 1e6) as u64;
        let mut listed: Vec<_> = bounds.map(bytes).collect();
        listed.sort_unstable();
        let mut expected: Vec<_> = BOUNDS.iter().map(|(_, bound)| *bound).collect();
        expected.push(PROGRAM_BOUND);
        expected.sort_unstable();
        assert_eq!(listed, expected);
    }

    #[test]
    fn each_package_has_a_bound_of_its_own() {
        assert_eq!(bound("imagekiln-cli-0.1.0.tgz", "0.1.0"), Some(12_000));
        assert_eq!(bound("imagekiln-cli-linux-x64-0.1.0.tgz", "0.1.0"), Some(11_500_000));
        assert_eq!(bound("SHA256SUMS", "0.1.0"), None);
    }

    #[test]
    fn the_wheel_has_the_name_and_the_readme_of_the_npm_package() {
        let python = repository::read("packaging/python/pyproject.toml").unwrap();
        let npm = repository::read("packaging/npm/package.json").unwrap();
        let npm: serde_json::Value = serde_json::from_str(&npm).unwrap();
        for field in ["name", "description"] {
            let line = format!("\n{field} = \"{}\"\n", npm[field].as_str().unwrap());
            assert!(python.contains(&line), "{line}");
        }
    }
}
