//! File endings: those that fit a picture, and those that no model can produce.

use std::path::{Path, PathBuf};

use imagekiln::FileKind;

/// The formats that models produce.
const PRODUCED: [FileKind; 5] =
    [FileKind::Jpeg, FileKind::Png, FileKind::Webp, FileKind::Webm, FileKind::Mp4];

/// Endings of other pictures and documents. An ending in no list, such as that of a temporary
/// file, says nothing about the content.
const OTHERS: [&str; 16] = [
    "avi", "bmp", "eps", "htm", "html", "ico", "jp2", "json", "jxl", "pdf", "psd", "svg", "tga",
    "tif", "tiff", "txt",
];

/// Whether the ending of the path is that of a format, and no model produces it.
pub fn is_impossible(path: &Path) -> bool {
    let Some(ending) = ending(path) else { return false };
    FileKind::of_extension(&ending)
        .map_or(OTHERS.contains(&&*ending), |kind| !PRODUCED.contains(&kind))
}

/// The path with an ending that fits the format. Endings that name no format stay.
pub fn fitting(path: &Path, kind: FileKind) -> PathBuf {
    match ending(path) {
        Some(ending) if FileKind::of_extension(&ending) == Some(kind) => path.to_owned(),
        Some(ending) if FileKind::of_extension(&ending).is_some() || OTHERS.contains(&&*ending) => {
            path.with_extension(kind.extension())
        }
        _ => path.to_owned(),
    }
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn endings_that_no_model_produces_are_impossible() {
        for path in ["fox.gif", "fox.HEIC", "fox.tiff", "fox.txt", "a/fox.avif"] {
            assert!(is_impossible(Path::new(path)), "{path}");
        }
        for path in ["fox.png", "fox.jpeg", "fox.webm", "fox.mov", "fox", "fox.part", "gif"] {
            assert!(!is_impossible(Path::new(path)), "{path}");
        }
    }
}
