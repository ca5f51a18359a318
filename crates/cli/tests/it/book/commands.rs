//! Checks commands that no test can run as they are: servers, commands that compile this
//! repository, and those that need an account.

use serde_json::Value;

use super::read;
use crate::bench::Bench;

/// The words with which a command begins. Those of other projects are only recognized.
const PROGRAMS: [&str; 20] = [
    "kiln", "cargo", "export", "curl", "git", "docker", "rustup", "pip", "pipx", "uvx", "pytest",
    "npm", "npx", "mkdir", "tar", "go", "cd", "podman", "claude", "codex",
];

/// Checks the lines of a session that begin with `$`. The others are what the commands printed.
pub fn check(bench: &Bench, session: &str) -> Result<(), String> {
    let session = session.replace("\\\n", " ");
    let mut found = 0;
    let mut task = None;
    let mut lines = session.lines();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        found += 1;
        let what = |problem: String| format!("{command}: {problem}");
        match program(command) {
            Some("kiln") => kiln(bench, command).map_err(what)?,
            Some("cargo") => cargo(command).map_err(what)?,
            Some("curl") => {
                let printed = lines.clone().next().filter(|line| !line.starts_with("$ "));
                curl(bench, command, printed, &mut task).map_err(what)?;
            }
            Some(_) => {}
            None => return Err(what("an unknown program".to_owned())),
        }
    }
    if found == 0 { Err("no line begins with `$`".to_owned()) } else { Ok(()) }
}

/// Refuses commands in a block that is not checked. What programs print is indented.
pub fn refuse(text: &str) -> Result<(), String> {
    let is_command = |line: &&str| !line.starts_with(' ') && program(line).is_some();
    text.lines().find(is_command).map_or(Ok(()), |line| Err(format!("a command: {line}")))
}

/// The program that a command starts, after the variables that it sets.
fn program(command: &str) -> Option<&'static str> {
    let first = command.split_whitespace().find(|word| !word.contains('='))?;
    PROGRAMS.into_iter().find(|program| *program == first)
}

/// `kiln` must know the command and its flags: with `--help`, it reads them and does nothing else.
fn kiln(bench: &Bench, command: &str) -> Result<(), String> {
    let ends = [" -- ", " < ", " > ", " &"].iter().filter_map(|end| command.find(end));
    let command = &command[..ends.min().unwrap_or(command.len())];
    let outcome = bench.shell(&format!("{command} --help"));
    if outcome.code == 0 { Ok(()) } else { Err(outcome.stderr) }
}

/// Whether curl is installed, in a version that has the option `--json`.
pub fn has_curl(bench: &Bench) -> bool {
    bench.shell("curl --json {} --version").code == 0
}

/// The simulator must accept the request, and respond as the page says, where `...` stands for
/// anything. In a command, `id=...` is the task of an earlier one.
fn curl(
    bench: &Bench,
    command: &str,
    printed: Option<&str>,
    task: &mut Option<String>,
) -> Result<(), String> {
    // The simulator of the tests is without TLS.
    if command.contains("--cacert") || !has_curl(bench) {
        return Ok(());
    }
    let id = format!("id={}", task.as_deref().unwrap_or("..."));
    let here = |text: &str| {
        text.replace("localhost:8314", bench.simulator.base_url().trim_start_matches("http://"))
            .replace("localhost:8316", bench.simulator.control_url().trim_start_matches("http://"))
    };
    let command = here(command)
        .replace("id=...", &id)
        .replace("imagekiln-simulator-key", bench.simulator.api_key())
        .replacen("curl", "curl --fail-with-body --silent --show-error", 1);
    let outcome = bench.shell(&command);
    if outcome.code != 0 {
        return Err(outcome.stderr);
    }
    if let Ok(response) = serde_json::from_slice::<Value>(&outcome.stdout)
        && let Some(id) = response["id"].as_str()
    {
        *task = Some(id.to_owned());
    }
    match printed.map(here) {
        Some(printed) if !is_like(&outcome.text(), &printed) => {
            Err(format!("printed {}", outcome.text()))
        }
        _ => Ok(()),
    }
}

/// Whether a text is `pattern`, where `...` stands for anything.
pub fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("...");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = if part.is_empty() { "" } else { after };
    }
    rest.trim_end().is_empty()
}

/// Returns the folder of a package of the workspace. That of the root has an empty one.
fn folder_of(package: &str) -> String {
    let Some(name) = package.strip_prefix("imagekiln-") else { return String::new() };
    // A package in a folder of another one has the names of both.
    let folder = |above| format!("{above}/{}/", name.replace('-', "/"));
    let exists = |folder: &String| super::root().join(folder).is_dir();
    ["crates", "tools"].map(folder).into_iter().find(exists).unwrap_or_default()
}

/// The targets that a command of Cargo names must exist.
fn cargo(command: &str) -> Result<(), String> {
    let words: Vec<_> = command.split_whitespace().take_while(|word| *word != "--").collect();
    let value = |flag: &str| {
        let place = words.iter().position(|word| *word == flag)?;
        words.get(place + 1).copied()
    };
    // The clone that a reader has is the folder `imagekiln`.
    let in_clone = |path: &str| path.trim_start_matches("../").replacen("imagekiln", ".", 1);
    let path = value("--path").map(in_clone);
    let folder = match &path {
        Some(path) => format!("{path}/"),
        None => folder_of(value("--package").unwrap_or("imagekiln")),
    };
    let manifest = read(&format!("{folder}Cargo.toml"));
    let exists = |what: &str, is_there: bool| {
        if is_there { Ok(()) } else { Err(format!("there is no {what}")) }
    };
    if words.get(1) == Some(&"xtask") {
        let module = words[2].replace('-', "_");
        let commands = read("xtask/src/main.rs");
        exists("such xtask", commands.contains(&format!("=> {module}::run(")))?;
    }
    if let Some(name) = value("--example") {
        exists(
            "such example",
            super::root().join(format!("{folder}examples/{name}.rs")).is_file(),
        )?;
    }
    if let Some(name) = value("--bench") {
        let is_target = manifest.contains(&format!("[[bench]]\nname = \"{name}\""));
        exists("such bench", is_target)?;
    }
    if let Some(name) = value("--test") {
        let folder = format!("{folder}tests/{name}/main.rs");
        exists("such test", super::root().join(folder).is_file())?;
    }
    let is_of_another = words[1] == "add" && path.is_none();
    let features = value("--features").filter(|_| !is_of_another);
    for feature in features.iter().flat_map(|features| features.split(',')) {
        exists("such feature", manifest.contains(&format!("\n{feature} = [")))?;
    }
    Ok(())
}
