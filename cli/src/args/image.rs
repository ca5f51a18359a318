//! Images on the command line: a path, an http(s) URL, or `-` for standard input.

use std::{
    ffi::OsStr,
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
};

use crate::failure::Failure;
use imagekiln::ImageInput;

/// Reads the images of one command. Standard input can be read only once.
#[derive(Default)]
pub struct Images {
    stdin_is_read: bool,
}

impl Images {
    pub fn read(&mut self, given: &OsStr) -> Result<ImageInput, Failure> {
        match given.to_str() {
            Some("-") => self.stdin(),
            Some(text) if is_http_url(text) => Ok(ImageInput::url(text)),
            _ => from_file(Path::new(given)),
        }
    }

    fn stdin(&mut self) -> Result<ImageInput, Failure> {
        if self.stdin_is_read {
            return Err(Failure::usage(
                "`-` is given for two images, but standard input can be read only once",
            )
            .advise("pass the other images as files"));
        }
        self.stdin_is_read = true;
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            return Err(Failure::usage(
                "could not read an image from standard input: it is a terminal",
            )
            .advise("redirect a file: < image.png"));
        }
        let mut bytes = Vec::new();
        stdin
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("could not read standard input", error))?;
        Ok(ImageInput::bytes(bytes))
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

pub fn is_http_url(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    })
}
