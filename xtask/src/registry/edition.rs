//! The registry edition of a page: its text as the readers of crates.io and docs.rs need it, who
//! have no clone of the repository.

use super::blocks::{Block, blocks};

const REPOSITORY: &str = "https://github.com/imagekiln/imagekiln";
const RAW: &str = "https://raw.githubusercontent.com/imagekiln/imagekiln";

/// The paragraph after this comment, or the section if it starts with a heading, is only in the
/// repository.
const MARK: &str = "<!-- not in the registry -->";

/// A page of a package.
pub struct Page<'a> {
    /// Its path in the repository.
    pub path: &'a str,
    /// The version that is released.
    pub version: &'a str,
}

impl Page<'_> {
    /// Returns the registry edition of this text. Relative links become absolute ones, with the
    /// tag of the version. Paths of dependencies become versions, and `cargo kiln` the installed
    /// `kiln`.
    pub fn edition(&self, text: &str) -> String {
        let rewritten = without_marked(blocks(text)).into_iter().map(|block| {
            let lines = block.without_cargo_kiln();
            let lines: String = lines.split_inclusive('\n').map(|line| self.code(line)).collect();
            if block.is_code { lines } else { self.prose(&lines) }
        });
        let text: String = rewritten.collect();
        self.pinned(text.trim_end()) + "\n"
    }

    /// Returns what is left in an edition that its readers cannot use.
    pub fn problems(&self, edition: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for words in ["cargo kiln", "path = \"", "--path cli", "not on their registries", MARK] {
            if edition.contains(words) {
                problems.push(format!("{}: `{words}`", self.path));
            }
        }
        // Readers elsewhere see these lines. A guide has one, which runs its program.
        let is_hidden = |line: &str| {
            line.starts_with("# ") && (self.is_readme() || !line.starts_with("# include!("))
        };
        let hides =
            |block: &Block| block.text.starts_with("```rust") && block.text.lines().any(is_hidden);
        if blocks(edition).iter().any(hides) {
            problems.push(format!("{}: a line that only rustdoc hides", self.path));
        }
        let prose: Vec<_> = blocks(edition).into_iter().filter(|block| !block.is_code).collect();
        let anchors: Vec<_> = prose.iter().filter_map(Block::anchor).collect();
        for block in &prose {
            for target in block.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let is_sound = match target.strip_prefix('#') {
                    Some(anchor) => anchors.iter().any(|known| known == anchor),
                    None => is_absolute(target),
                };
                if !is_sound {
                    problems.push(format!("{}: the link to `{target}`", self.path));
                }
            }
            if self.is_readme() && without_shortcuts(block.text) != block.text {
                problems.push(format!("{}: a link to an item in `{}`", self.path, block.text));
            }
        }
        problems
    }

    /// crates.io shows a README, and knows no items.
    fn is_readme(&self) -> bool {
        self.path.ends_with("README.md")
    }

    /// Rewrites what a line tells to run or to write into a manifest.
    fn code(&self, line: &str) -> String {
        let line = line.replace("cargo kiln ", "kiln ").replace("`cargo kiln`", "`kiln`");
        let line = installed(&line);
        let Some((before, rest)) = line.split_once("path = \"..") else { return line };
        let Some((_, after)) = rest.split_once('"') else { return line.clone() };
        let version = self.version;
        if before.contains("version = ") || after.contains("version = ") {
            let (before, after) = (before.trim_end_matches(", "), after.trim_start_matches(", "));
            return format!("{before}{after}");
        }
        format!("{before}version = \"{version}\"{after}")
            .replace(&format!("{{ version = \"{version}\" }}"), &format!("\"{version}\""))
    }

    /// Makes the links of prose absolute.
    fn prose(&self, text: &str) -> String {
        let text = if self.is_readme() { without_shortcuts(text) } else { text.to_owned() };
        let mut done = String::new();
        let mut rest = text.as_str();
        while let Some((before, (target, after))) =
            rest.split_once("](").and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
        {
            let is_image = before.rfind('[').is_some_and(|start| before[..start].ends_with('!'));
            done.push_str(&format!("{before}]({})", self.absolute(target, is_image)));
            rest = after;
        }
        done + rest
    }

    /// Returns the URL of a link's target.
    fn absolute(&self, target: &str, is_image: bool) -> String {
        if target.starts_with('#') || is_absolute(target) {
            return target.to_owned();
        }
        let (path, anchor) = match target.find('#') {
            Some(place) => target.split_at(place),
            None => (target, ""),
        };
        let mut folders: Vec<&str> = self.path.split('/').collect();
        folders.pop();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(folders.pop()),
                part => folders.push(part),
            }
        }
        let (path, version) = (folders.join("/"), self.version);
        if is_image {
            return format!("{RAW}/v{version}/{path}");
        }
        let guide = path.strip_prefix("src/guide/").and_then(|name| name.strip_suffix(".md"));
        if let Some(name) = guide {
            return format!("https://docs.rs/imagekiln/{version}/imagekiln/guide/{name}/{anchor}");
        }
        match path.as_str() {
            "batch/README.md" => {
                format!("https://docs.rs/imagekiln-batch/{version}/imagekiln_batch/{anchor}")
            }
            "simulator/README.md" => {
                format!(
                    "https://docs.rs/imagekiln-simulator/{version}/imagekiln_simulator/{anchor}"
                )
            }
            path => format!("{REPOSITORY}/blob/v{version}/{path}{anchor}"),
        }
    }

    /// Replaces the newest version by this one in URLs of the documentation and the repository.
    pub fn pinned(&self, text: &str) -> String {
        let version = self.version;
        let text = text.replace(&format!("{RAW}/main/"), &format!("{RAW}/v{version}/")).replace(
            &format!("{REPOSITORY}/blob/main/"),
            &format!("{REPOSITORY}/blob/v{version}/"),
        );
        ["imagekiln", "imagekiln-batch", "imagekiln-simulator"].iter().fold(text, |text, name| {
            let url = format!("https://docs.rs/{name}/");
            text.replace(&format!("{url}latest/"), &format!("{url}{version}/"))
        })
    }
}

/// Removes the marked blocks, each with its section if it is a heading.
fn without_marked(blocks: Vec<Block>) -> Vec<Block> {
    let mut kept = Vec::new();
    let mut left = blocks.into_iter().peekable();
    while let Some(mut block) = left.next() {
        let Some(rest) = block.text.strip_prefix(MARK).filter(|_| !block.is_code) else {
            kept.push(block);
            continue;
        };
        block.text = rest.trim_start();
        if block.text.is_empty() {
            let Some(next) = left.next() else { break };
            block = next;
        }
        if let Some(level) = block.heading() {
            let is_inside = |block: &Block| block.heading().is_none_or(|next| next > level);
            while left.next_if(is_inside).is_some() {}
        }
    }
    kept
}

/// Replaces the folder of a package by its name in a command.
fn installed(line: &str) -> String {
    let Some((before, after)) = line.split_once(" --path ") else { return line.to_owned() };
    let end = after.find([' ', '`', '\n']).unwrap_or(after.len());
    let (folder, after) = after.split_at(end);
    if before.contains("cargo add ") {
        return format!("{before}{after}");
    }
    match folder.rsplit('/').next() {
        Some("cli") if before.contains("cargo install") => format!("{before} imagekiln-cli{after}"),
        _ => line.to_owned(),
    }
}

/// Removes the brackets of links such as [`Batch`], which only rustdoc resolves.
fn without_shortcuts(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else { break };
        let is_link = after.starts_with(['(', '[', ':']) || name.contains(['`', '\n']);
        done.push_str(before);
        done.push_str(&if is_link { format!("[`{name}`]") } else { format!("`{name}`") });
        rest = after;
    }
    done + rest
}

fn is_absolute(target: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}
