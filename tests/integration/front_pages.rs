//! The README and the front page of the documentation: they show the same first program, and lead
//! to every guide.

use std::{fs, path::Path};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documentation of the crate, without its comment markers.
fn front_page() -> String {
    let source = read("src/lib.rs");
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// The lines of the first block of Rust between the client and the end of its function.
fn first_program(page: &str) -> Vec<String> {
    let lines = page.lines().map(str::trim).skip_while(|line| !line.starts_with("let client"));
    lines.take_while(|line| *line != "}").map(str::to_owned).collect()
}

#[test]
fn both_pages_show_the_same_program() {
    let (readme, front_page) = (read("README.md"), front_page());
    let program = first_program(&front_page);
    assert!(program.len() > 4, "{program:?}");
    assert_eq!(first_program(&readme), program);
}

#[test]
fn both_pages_lead_to_every_guide() {
    let (readme, front_page, index) = (read("README.md"), front_page(), read("src/guide/mod.rs"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide");
    let mut guides = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = file.strip_suffix(".md") else { continue };
        guides += 1;
        assert!(readme.contains(&format!("/imagekiln/guide/{name}/)")), "README.md: {name}");
        assert!(front_page.contains(&format!("(guide::{name})")), "src/lib.rs: {name}");
        assert!(index.contains(&format!("[`{name}`]")), "src/guide/mod.rs: {name}");
    }
    assert_eq!(guides, 10);
}
