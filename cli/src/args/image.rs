//! Images as they are given on the command line: a path, an http(s) URL, or `-` for standard input.

use std::{
    ffi::OsStr,
    fs,
    io::{self, IsTerminal, Read},
    path::Path,
};

use imagekiln::ImageInput;

use crate::failure::Failure;

/// Reads the images of one command; standard input can be read once.
#[derive(Default)]
pub struct Images {
    stdin_is_read: bool,
}

impl Images {
    pub fn read(&mut self, given: &OsStr) -> Result<ImageInput, Failure> {
        match given.to_str() {
            Some("-") => self.stdin(),
            Some(text) if is_web_address(text) => Ok(ImageInput::url(text)),
            _ => from_file(Path::new(given)),
        }
    }

    fn stdin(&mut self) -> Result<ImageInput, Failure> {
        if self.stdin_is_read {
            return Err(Failure::usage(
                "`-` stands for two images, and standard input can be read once",
            )
            .advise("give the others as files"));
        }
        self.stdin_is_read = true;
        let mut stdin = io::stdin().lock();
        if stdin.is_terminal() {
            return Err(Failure::usage(
                "`-` reads an image from standard input, which is a terminal here",
            )
            .advise("redirect a file to it: < image.png"));
        }
        let mut bytes = Vec::new();
        stdin
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::file("standard input can't be read", error))?;
        Ok(ImageInput::bytes(bytes))
    }
}

/// A regular file is read while it is sent. A pipe, such as a shell's `<(...)`, can't be measured
/// first, so it is read here.
fn from_file(path: &Path) -> Result<ImageInput, Failure> {
    let unreadable = |error| {
        Failure::file(format!("the image {} can't be read", path.display()), error).advise(
            "nothing was sent; give the path of an image file, an http(s) URL, or `-` for standard input",
        )
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_file() || metadata.is_dir() {
        // Opened to find a fault before anything else happens; a directory is one too.
        fs::File::open(path).and_then(|mut file| file.read(&mut [0])).map_err(unreadable)?;
        return Ok(ImageInput::path(path));
    }
    fs::read(path).map(ImageInput::bytes).map_err(unreadable)
}

fn is_web_address(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    })
}
