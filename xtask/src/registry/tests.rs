use super::*;

const VERSION: &str = "7.8.9";

fn edition(path: &str, text: &str) -> String {
    Page { path, version: VERSION }.edition(text)
}

#[test]
fn no_page_of_a_package_needs_a_clone() {
    let root = repository::root().unwrap();
    let pages = pages(&root).unwrap();
    assert!(pages.len() > 12, "{pages:?}");
    for path in &pages {
        let page = Page { path, version: VERSION };
        let text = repository::read(path).unwrap();
        let edition = page.edition(&text);
        assert_eq!(page.problems(&edition), [""; 0]);
        assert!(!edition.contains("/latest/"), "{path}");
        assert!(!edition.contains("imagekiln/main/"), "{path}");
        assert!(edition.len() * 2 > text.len(), "{path} lost more than the sections for clones");
        let blob = format!("/imagekiln/blob/v{VERSION}/");
        for target in edition.split(&blob).skip(1) {
            let target = target.split([')', '#']).next().unwrap();
            assert!(root.join(target).exists(), "{path}: {target}");
        }
    }
}

#[test]
fn links_lead_to_the_version() {
    let text = "[a](docs/kiln.md#many), [b](../src/guide/edit.md), [c](README.md#buckets), \
                [d](#here), [e](https://docs.rs/imagekiln/latest/imagekiln/guide/edit/)\n\
                ![f](../docs/fox.png) [g](../LICENSE-MIT) [h](../examples)\n";
    let blob = "https://github.com/imagekiln/imagekiln/blob/v7.8.9";
    let raw = "https://raw.githubusercontent.com/imagekiln/imagekiln/v7.8.9";
    let guide = "https://docs.rs/imagekiln/7.8.9/imagekiln/guide/edit/";
    let batch = "https://docs.rs/imagekiln-batch/7.8.9/imagekiln_batch/#buckets";
    let expected = format!(
        "[a]({blob}/batch/docs/kiln.md#many), [b]({guide}), [c]({batch}), [d](#here), \
         [e]({guide})\n\
         ![f]({raw}/docs/fox.png) [g]({blob}/LICENSE-MIT) [h]({blob}/examples)\n"
    );
    assert_eq!(edition("batch/README.md", text), expected);
}

#[test]
fn only_rustdoc_keeps_links_to_items() {
    let text = "[`Batch`], [`x`](https://x.org)\n";
    assert_eq!(edition("batch/README.md", text), "`Batch`, [`x`](https://x.org)\n");
    assert_eq!(edition("src/guide/many.md", text), text);
}

#[test]
fn dependencies_and_commands_name_packages() {
    for (text, expected) in [
        ("imagekiln = { path = \"../imagekiln\" }", "imagekiln = \"7.8.9\""),
        (
            "imagekiln = { path = \"../imagekiln\", features = [\"axum\"] }",
            "imagekiln = { version = \"7.8.9\", features = [\"axum\"] }",
        ),
        ("x = { version = \"1\", path = \"../x\" }", "x = { version = \"1\" }"),
        ("cargo kiln models", "kiln models"),
        (
            "cargo install --locked --path cli --features s3",
            "cargo install --locked imagekiln-cli --features s3",
        ),
        ("cargo install --path imagekiln/cli", "cargo install imagekiln-cli"),
        ("cargo add imagekiln --path ../imagekiln", "cargo add imagekiln"),
        ("kiln webhook listen --path /hooks", "kiln webhook listen --path /hooks"),
    ] {
        let page = |line: &str| format!("# A page\n\n```sh\n{line}\n```\n\nText.\n");
        assert_eq!(edition("cli/README.md", &page(text)), page(expected));
    }
}

#[test]
fn what_only_helps_in_a_clone_is_left_out() {
    let text = "\
# A

Here, `cargo kiln ...` runs it.

Zero. Here, `cargo kiln ...` runs
it. `x` is `y`.

<!-- not in the registry -->
One paragraph.

Two.

<!-- not in the registry -->
## From a clone

Three.

```sh
## four
cargo test
```

### Five

Six.

<!-- not in the registry -->

Seven.

## Eight

Nine.
";
    assert_eq!(
        edition("README.md", text),
        "# A\n\nZero. `x` is `y`.\n\nTwo.\n\n## Eight\n\nNine.\n"
    );
}

#[test]
fn what_is_left_for_a_clone_is_a_problem() {
    let problems = |text: &str| Page { path: "README.md", version: VERSION }.problems(text);
    for text in [
        "[a](docs/kiln.md)",
        "[a](#nowhere)\n\n# Here",
        "[a](Job::group)",
        "[`Batch`]",
        "x = { path = \"x\" }",
        "`cargo kiln`",
        "<!-- not in the registry -->",
        "```rust\n# fn main() {\n```",
        "```rust\n# include!(\"a.in\");\n```",
    ] {
        assert_eq!(problems(text).len(), 1, "{text}");
    }
    let guide = Page { path: "src/guide/many.md", version: VERSION };
    assert_eq!(guide.problems("```rust\n# include!(\"a.in\");\n```"), [""; 0]);
    assert_eq!(guide.problems("```rust\n# fn main() {\n```").len(), 1);
    assert_eq!(problems("[a](#it-is-here)\n\n# It is, `here`\n\n```\n[a](b)\n```\n"), [""; 0]);
}

/// rustdoc leaves these links as they are.
#[test]
fn the_documentation_in_the_code_has_no_link_to_a_file() {
    let root = repository::root().unwrap();
    let list = ["git", "ls-files", "src/*.rs", "batch/src/*.rs", "simulator/src/*.rs"];
    let paths = output(&mut command(&root, &list)).unwrap();
    assert!(paths.lines().count() > 100, "{paths}");
    for path in paths.lines().map(|path| root.join(path)).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).unwrap();
        let mut docs = text.lines().map(str::trim_start).filter(|line| line.starts_with("//"));
        let link = docs.find(|line| line.contains("](../") || line.contains(".md)"));
        assert_eq!(link, None, "{}", path.display());
    }
}

#[test]
fn crates_of_the_registry_come_after_those_that_they_need() {
    let mut known: Vec<&str> = Vec::new();
    for Package { name, folder, .. } in &PUBLISHED {
        let manifest = repository::read(&format!("{folder}Cargo.toml")).unwrap();
        let tables = manifest.split("\n[dependencies]\n").nth(1).unwrap();
        let table = tables.split("\n[").next().unwrap();
        for needed in table.lines().filter_map(|line| line.split(['.', ' ']).next()) {
            let is_ours = needed.starts_with("imagekiln");
            assert!(!is_ours || known.contains(&needed), "{name} needs {needed}");
        }
        known.push(name);
    }
}

#[test]
fn the_documentation_of_each_crate_shows_its_features() {
    for Package { name, folder, .. } in &PUBLISHED {
        let manifest = repository::read(&format!("{folder}Cargo.toml")).unwrap();
        let table = "[package.metadata.docs.rs]\nall-features = true\n\
                     rustdoc-args = [\"--cfg\", \"docsrs\"]\n";
        assert!(manifest.contains(table), "{name}");
        let code = repository::read(&format!("{folder}src/lib.rs")).unwrap();
        assert!(code.contains("#![cfg_attr(docsrs, feature(doc_cfg))]"), "{name}");
        assert_eq!(code.contains("__fuzzing"), code.contains("#[doc(hidden)]\npub mod fuzzing"));
    }
}
