//! The names of pictures: their endings, their maximum lengths, and the alternatives if another
//! file has the name.

use std::{
    ffi::{OsStr, OsString},
    fs, io, iter,
    path::{Path, PathBuf},
};

use imagekiln::{FileKind, TaskRef};
use imagekiln_label::{Template, TemplateFields, sha256};

const PRODUCED: [FileKind; 5] =
    [FileKind::Jpeg, FileKind::Png, FileKind::Webp, FileKind::Webm, FileKind::Mp4];

/// Endings of other pictures and documents. An ending in neither list, such as that of a temporary
/// file, says nothing about the content.
const OTHERS: [&str; 16] = [
    "avi", "bmp", "eps", "htm", "html", "ico", "jp2", "json", "jxl", "pdf", "psd", "svg", "tga",
    "tif", "tiff", "txt",
];

/// Whether the path has the ending of a known format that no model produces.
pub fn is_impossible(path: &Path) -> bool {
    let Some(ending) = ending(path) else { return false };
    FileKind::of_extension(&ending)
        .map_or(OTHERS.contains(&&*ending), |kind| !PRODUCED.contains(&kind))
}

/// Replaces the ending of the path if it belongs to another format. An ending that does not belong
/// to a known format stays.
pub fn fitting(path: &Path, kind: FileKind) -> PathBuf {
    match ending(path) {
        Some(ending) if FileKind::of_extension(&ending) == Some(kind) => path.to_owned(),
        Some(ending) if FileKind::of_extension(&ending).is_some() || OTHERS.contains(&&*ending) => {
            path.with_extension(kind.extension())
        }
        _ => path.to_owned(),
    }
}

/// The ending for a picture whose name the user has not chosen.
pub fn extension(kind: Option<FileKind>) -> &'static str {
    kind.map_or("picture", FileKind::extension)
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// The lengths in bytes to which a name that is too long is shortened, in this order. Some file
/// systems allow only 143 bytes. The second length is shorter than the name with which the
/// directory was probed, so the file system accepts it.
const SHORTENED: [usize; 2] = [120, 24];

/// The maximum length of an ending that a shortened name keeps, including its dot.
const LONGEST_ENDING: usize = 8;

/// Returns the path if the file system accepts its name, or else a path with a shorter name.
pub fn allowed(path: PathBuf) -> PathBuf {
    let is_too_long = |path: &Path| {
        let error = fs::symlink_metadata(path).err();
        error.is_some_and(|error| error.kind() == io::ErrorKind::InvalidFilename)
    };
    if !is_too_long(&path) {
        return path;
    }
    let Some(name) = path.file_name() else { return path };
    let shorter = SHORTENED.map(|longest| path.with_file_name(shortened(name, longest)));
    shorter.into_iter().find(|path| !is_too_long(path)).unwrap_or(path)
}

/// Keeps the beginning and the ending of a name. A hash between them keeps different names
/// different.
fn shortened(name: &OsStr, longest: usize) -> String {
    let hash: String = sha256(name.as_encoded_bytes()).chars().take(8).collect();
    let name = name.to_string_lossy();
    let (stem, ending) = match name.rfind('.') {
        Some(dot) if dot > 0 && name.len() - dot <= LONGEST_ENDING => name.split_at(dot),
        _ => (&*name, ""),
    };
    let room = longest.saturating_sub(hash.len() + ending.len() + 1);
    let end = (0..=room.min(stem.len())).rev().find(|end| stem.is_char_boundary(*end));
    format!("{}-{hash}{ending}", &stem[..end.unwrap_or_default()])
}

/// Yields `fox.png`, `fox-2.png`, `fox-3.png` and so on, shortened if necessary.
pub fn numbered(path: PathBuf) -> impl Iterator<Item = PathBuf> + use<> {
    let others = (2u32..).map({
        let path = path.clone();
        move |number| path.with_file_name(with_number(&path, number))
    });
    iter::once(path).chain(others).map(allowed)
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

/// The words of a prompt, such as `a-red-fox`. `None` if it contains no letters or digits.
pub fn title(prompt: &str) -> Option<String> {
    let slug = Template::parse("{slug}").ok()?;
    let title = slug.render(&TemplateFields { prompt, ..TemplateFields::default() });
    prompt.chars().any(char::is_alphanumeric).then_some(title)
}

/// Yields names for the picture of a task: `a-red-fox-1a2b3c4d.png`, or `gen-2-pro-1a2b3c4d.png`
/// without a title. If another file has that name, the following names contain the whole id, and
/// then also a number.
pub fn of_task(
    (task, title): (&TaskRef, Option<&str>),
    directory: &Path,
    kind: Option<FileKind>,
) -> impl Iterator<Item = PathBuf> + use<> {
    let extension = extension(kind);
    let path = |length| directory.join(format!("{}.{extension}", stem(task, title, length)));
    iter::once(allowed(path(SHORT_ID))).chain(numbered(path(WHOLE_ID)))
}

/// The numbers of characters of an id in names. With the title and the extension, a name with the
/// whole id must not exceed the 255 bytes of a file name.
const SHORT_ID: usize = 8;
const WHOLE_ID: usize = 150;

/// The id comes from the service, so it must not lead out of the directory.
fn stem(task: &TaskRef, title: Option<&str>, length: usize) -> String {
    let safe = |text: &str| {
        let safe: String = text
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' })
            .collect();
        safe.trim_matches(['-', '.']).to_owned()
    };
    let id: String = safe(task.id()).chars().take(length).collect();
    let model = || task.operation().map_or("picture".to_owned(), safe);
    let title = title.map_or_else(model, str::to_owned);
    let title: String = title.chars().take(80).collect();
    format!("{title}-{}", id.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        let named = |operation: &str, id: &str| {
            stem(&TaskRef::new(id, "http://localhost/", Some(operation.to_owned())), None, SHORT_ID)
        };
        assert_eq!(named("gen-2-pro", "1a2b3c4d-5e6f"), "gen-2-pro-1a2b3c4d");
        assert_eq!(
            named("gen-tools/deblur-v1", "../../etc/passwd"),
            "gen-tools-deblur-v1-etc-pass"
        );
        assert_eq!(named("{base_model}-finetuned", "x"), "base_model--finetuned-x");
        assert_eq!(
            stem(&TaskRef::new("é/", "http://localhost/", None), None, WHOLE_ID),
            "picture-"
        );
        let titled = TaskRef::new("1a2b", "http://localhost/", None);
        let title = title("A red fox, running");
        assert_eq!(stem(&titled, title.as_deref(), SHORT_ID), "a-red-fox-running-1a2b");
    }

    #[test]
    fn shortened_names_keep_their_ending_and_differ() {
        let name = |end: &str| format!("{}{end}", "é".repeat(200));
        let short = |name: &str, longest| shortened(OsStr::new(name), longest);
        for longest in SHORTENED {
            let [one, two] = [name("1.png"), name("2.png")].map(|name| short(&name, longest));
            assert!(one.len() <= longest && one.starts_with('é') && one.ends_with(".png"), "{one}");
            assert_ne!(one, two);
        }
        assert!(short(&format!(".{}", "x".repeat(300)), 24).starts_with(".xxx"));
        assert_eq!(short(&format!("a.{}", "x".repeat(300)), 24).len(), 24);
    }

    #[test]
    fn the_ending_follows_the_format() {
        for (path, kind, expected) in [
            ("fox.png", FileKind::Png, "fox.png"),
            ("fox.JPEG", FileKind::Jpeg, "fox.JPEG"),
            ("a.b/fox.png", FileKind::Jpeg, "a.b/fox.jpg"),
            ("fox.gif", FileKind::Webp, "fox.webp"),
            ("fox.txt", FileKind::Jpeg, "fox.jpg"),
            ("fox.mp4", FileKind::Jpeg, "fox.jpg"),
            ("fox.mov", FileKind::Mp4, "fox.mov"),
            ("fox.v2", FileKind::Png, "fox.v2"),
            ("tmp.Xa8d3", FileKind::Png, "tmp.Xa8d3"),
            ("fox", FileKind::Png, "fox"),
            (".png", FileKind::Jpeg, ".png"),
        ] {
            assert_eq!(fitting(Path::new(path), kind), Path::new(expected), "{path}");
        }
    }
}
