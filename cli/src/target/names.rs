//! The names of pictures.

use std::{
    ffi::OsString,
    iter,
    path::{Path, PathBuf},
};

use imagekiln::TaskRef;

/// `fox.png`, `fox-2.png`, `fox-3.png` and so on.
pub fn numbered(path: PathBuf) -> impl Iterator<Item = PathBuf> + use<> {
    let others = (2u32..).map({
        let path = path.clone();
        move |number| path.with_file_name(with_number(&path, number))
    });
    iter::once(path).chain(others)
}

fn with_number(path: &Path, number: u32) -> OsString {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    name
}

/// `gen-2-pro-1a2b3c4d.png`, and if that is taken by another task, the whole id.
pub fn of_task(
    task: &TaskRef,
    directory: &Path,
    extension: &str,
) -> impl Iterator<Item = PathBuf> + use<> {
    let path = |id| directory.join(format!("{}.{extension}", stem(task, id)));
    iter::once(path(Id::Short)).chain(numbered(path(Id::Whole)))
}

enum Id {
    Short,
    Whole,
}

/// Ids come from the service, so they must not escape the directory.
fn stem(task: &TaskRef, id: Id) -> String {
    let safe = |text: &str| {
        let safe: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' })
            .collect();
        safe.trim_matches(['-', '.']).to_owned()
    };
    let length = match id {
        Id::Short => 8,
        // Leaves room for the model and the extension within the 255 bytes of a file name.
        Id::Whole => 150,
    };
    let id: String = safe(task.id()).chars().take(length).collect();
    let model: String =
        task.operation().map_or("picture".to_owned(), safe).chars().take(80).collect();
    format!("{model}-{}", id.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        let named = |operation: &str, id: &str| {
            stem(&TaskRef::new(id, "http://localhost/", Some(operation.to_owned())), Id::Short)
        };
        assert_eq!(named("gen-2-pro", "1a2b3c4d-5e6f"), "gen-2-pro-1a2b3c4d");
        assert_eq!(
            named("gen-tools/deblur-v1", "../../etc/passwd"),
            "gen-tools-deblur-v1-etc-pass"
        );
        assert_eq!(named("{base_model}-finetuned", "x"), "base_model--finetuned-x");
        assert_eq!(stem(&TaskRef::new("é/", "http://localhost/", None), Id::Whole), "picture-");
    }

    #[test]
    fn numbers_go_before_the_ending() {
        let names = |path: &str| -> Vec<_> { numbered(path.into()).take(3).collect() };
        assert_eq!(
            names("a.b/fox.png"),
            ["a.b/fox.png", "a.b/fox-2.png", "a.b/fox-3.png"].map(PathBuf::from)
        );
        assert_eq!(names("fox"), ["fox", "fox-2", "fox-3"].map(PathBuf::from));
    }
}
