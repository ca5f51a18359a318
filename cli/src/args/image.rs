//! Images on the command line: a path, an http(s) URL, or `-` for standard input.

use std::{ffi::OsStr, fs, io::Read, path::Path};

use crate::{failure::Failure, process::Process};
use imagekiln::{FileKind, ImageInput, text::is_url};

/// Reads the images of one command, and its prompt; see [`super::prompt`]. Standard input can be
/// read only once.
pub struct Images<'a> {
    process: &'a Process,
    stdin_is_read: bool,
}

impl<'a> Images<'a> {
    pub fn of(process: &'a Process) -> Self {
        Self { process, stdin_is_read: false }
    }

    pub fn read(&mut self, given: &OsStr) -> Result<ImageInput, Failure> {
        match given.to_str() {
            Some("-") if self.process.stdin.is_terminal => {
                Err(Failure::usage("could not read an image from standard input: it is a terminal")
                    .advise("nothing was sent; redirect a file with `<`, or use a pipe"))
            }
            Some("-") => self.stdin().map(ImageInput::bytes),
            Some(text) if is_url(text) => Ok(ImageInput::url(text)),
            _ => from_file(Path::new(given)),
        }
    }

    /// Reads the prompt, which a person may type.
    pub fn prompt(&mut self) -> Result<Vec<u8>, Failure> {
        self.process.note_typing("the prompt");
        self.stdin()
    }

    fn stdin(&mut self) -> Result<Vec<u8>, Failure> {
        if self.stdin_is_read {
            return Err(Failure::usage(
                "`-` is given twice, but standard input can be read only once",
            )
            .advise("nothing was sent; pass all but one of them as files"));
        }
        self.stdin_is_read = true;
        let mut stdin = &self.process.stdin;
        let mut bytes = Vec::new();
        stdin
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("could not read standard input", error))?;
        Ok(bytes)
    }
}

/// A regular file is streamed when it is sent. The size of a pipe, such as a shell's `<(...)`, is
/// unknown, so it is read here.
fn from_file(path: &Path) -> Result<ImageInput, Failure> {
    let unreadable = |error| {
        Failure::file(format!("could not read the image {}", path.display()), error).advise(
            "nothing was sent; pass the path of an image file, an http(s) URL, or `-` for standard \
             input",
        )
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_file() || metadata.is_dir() {
        // Fails early if the file cannot be read; reading a directory fails too.
        fs::File::open(path).and_then(|mut file| file.read(&mut [0])).map_err(unreadable)?;
        return Ok(ImageInput::path(path));
    }
    fs::read(path).map(ImageInput::bytes).map_err(unreadable)
}

/// Whether the text is the path of an image file.
pub fn is_image_file(text: &str) -> bool {
    let path = Path::new(text);
    // Opening a pipe would block.
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && FileKind::of(&head).is_some()
}

/// Whether the text can only be an image: it is an image file, or a URL, or ends like an image.
pub fn looks_like_an_image(text: &str) -> bool {
    const ENDINGS: [&str; 8] =
        [".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".heic", ".heif"];
    let is_one_word = !text.contains(char::is_whitespace);
    let lower = text.to_ascii_lowercase();
    is_image_file(text)
        || is_one_word && (is_url(text) || ENDINGS.iter().any(|end| lower.ends_with(end)))
}
