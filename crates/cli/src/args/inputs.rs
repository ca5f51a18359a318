//! Reads what a picture is made from. A prompt is text, `-` for standard input, or `@FILE`. An
//! image is a path, a picture of the history such as `@3`, an http(s) URL, a `data:` URL, or `-`.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgMatches};

use super::completers;
use crate::{
    failure::Failure, files::bounded, history::find, models::PROMPT, output::Output,
    process::Process, settings::Settings, text::one_line,
};
use imagekiln::{
    FileKind, ImageInput,
    text::{self, is_data_url, is_url},
};

/// The maximum length of a prompt in a file or a pipe, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// The maximum size in bytes of an image that is not a regular file, because it is held in memory.
const LARGEST: u64 = 128 * 1024 * 1024;

/// The maximum length of a path in messages. A path may be base64 by mistake, and then be very
/// long.
const MAX_SHOWN: usize = 200;

/// The argument for the prompt. Its id is the name of the field in the contract.
pub fn prompt_arg(help: &str) -> Arg {
    Arg::new(PROMPT)
        .value_name("PROMPT")
        .required(true)
        .add(completers::prompt())
        .help(format!("{help}: text, `-` or `@FILE`"))
        .long_help(format!(
            "{help}: text, `-` for standard input, or `@FILE`; `@@` is a literal `@`"
        ))
}

/// Returns the prompts of a command if there are several and one is a single word. The user may
/// have forgotten the quotes around one prompt, and would pay for a picture of each word.
pub fn single_words(matches: &ArgMatches) -> Option<Vec<&str>> {
    let given: Vec<&str> =
        matches.get_many::<String>(PROMPT).into_iter().flatten().map(String::as_str).collect();
    let is_word = |given: &&str| {
        !given.contains(|c: char| c.is_whitespace() || is_of_script_without_spaces(c))
            && !given.starts_with(['-', '@'])
            && !looks_like_an_image(given)
    };
    (given.len() > 1 && given.iter().any(is_word)).then_some(given)
}

/// The scripts of Chinese, Japanese, Thai, Lao, Burmese and Khmer have no spaces between words.
fn is_of_script_without_spaces(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Reads the prompts and the images of one command, which may read standard input only once.
pub struct Inputs<'a> {
    process: &'a Process,
    pub output: &'a Output,
    pub settings: &'a Settings,
    stdin_is_read: bool,
}

impl<'a> Inputs<'a> {
    pub fn of(output: &'a Output, settings: &'a Settings) -> Self {
        Self { process: &output.process, output, settings, stdin_is_read: false }
    }

    /// Reads all prompts among the arguments. If one of them is an image, the error suggests
    /// `with_images`, the command that takes a prompt and images.
    pub fn prompts(
        &mut self,
        matches: &ArgMatches,
        with_images: &str,
    ) -> Result<Vec<String>, Failure> {
        let given: Vec<&str> =
            matches.get_many::<String>(PROMPT).into_iter().flatten().map(String::as_str).collect();
        given.into_iter().map(|given| self.prompt(given, with_images)).collect()
    }

    /// Reads a prompt. Newlines at the end of standard input or a file do not belong to the prompt.
    pub fn prompt(&mut self, given: &str, with_images: &str) -> Result<String, Failure> {
        let bytes = match (given, given.strip_prefix('@')) {
            ("-", _) => {
                self.process.note_typing("the prompt");
                short(self.stdin(LONGEST)?, "standard input")?
            }
            (_, Some(rest)) if rest.starts_with('@') => return Ok(rest.to_owned()),
            (_, Some("")) => {
                return Err(Failure::usage("`@` is not followed by the path of a file")
                    .advise("nothing was sent; write @FILE, or @@ for a literal `@`"));
            }
            (_, Some(path)) => prompt_in(Path::new(path))?,
            _ if looks_like_an_image(given) => {
                let given = one_line(given);
                let problem = format!("the prompt `{given}` is the name of an image");
                return Err(Failure::usage(problem).advise(format!(
                    "nothing was sent; the prompt comes before the images: `kiln {with_images} \
                     PROMPT {given}`"
                )));
            }
            // The user probably means the text in the file.
            _ if given.contains(['.', '/']) && Path::new(given).is_file() => {
                let problem = format!("the prompt `{given}` is the name of a file");
                return Err(Failure::usage(problem).advise(format!(
                    "nothing was sent; to read the prompt from it, pass @{given}"
                )));
            }
            _ => return Ok(given.to_owned()),
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Failure::usage("the prompt is not valid UTF-8 text")
                .advise("nothing was sent; convert it to UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    pub fn image(&mut self, given: &OsStr) -> Result<ImageInput, Failure> {
        match given.to_str() {
            Some("-") if self.process.stdin.is_terminal => {
                Err(Failure::usage("could not read an image from standard input: it is a terminal")
                    .advise("nothing was sent; redirect a file with `<`, or use a pipe"))
            }
            Some("-") => small(self.stdin(LARGEST)?, "standard input").map(ImageInput::bytes),
            Some(text) if is_url(text) => Ok(ImageInput::url(text)),
            Some(text) if is_data_url(text) => ImageInput::try_url(text)
                .map_err(|error| Failure::usage(error.to_string()).advise("nothing was sent")),
            Some(text) if text.starts_with('@') && !Path::new(text).exists() => {
                image_in(&self.made(text)?)
            }
            _ => image_in(Path::new(given)),
        }
    }

    /// Returns the path of the saved picture that `@last` or a name such as `@3` refers to.
    fn made(&self, given: &str) -> Result<PathBuf, Failure> {
        let made = find::by_number(self.process, given)?;
        let saved = made.as_ref().and_then(|entry| entry.saved_path());
        saved.map(Path::to_owned).ok_or_else(|| {
            let given = one_line(given);
            Failure::usage(format!("the picture {given} is not saved in a file"))
                .advise(format!("nothing was sent; `kiln show {given}` says what became of it"))
        })
    }

    /// Reads standard input, at most one byte more than `limit`.
    fn stdin(&mut self, limit: u64) -> Result<Vec<u8>, Failure> {
        if self.stdin_is_read {
            return Err(Failure::usage(
                "`-` is given twice, but standard input can be read only once",
            )
            .advise("nothing was sent; pass all but one of them as files"));
        }
        self.stdin_is_read = true;
        bounded(&self.process.stdin, limit)
            .map_err(|error| Failure::file("could not read standard input", error))
    }
}

fn prompt_in(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let unreadable = |error: io::Error| {
        Failure::file(format!("could not read the prompt from {shown}"), error).advise(format!(
            "nothing was sent; check the path, or write @@{shown} for a literal `@`"
        ))
    };
    short(head(path, LONGEST).map_err(unreadable)?, &shown.to_string())
}

/// Refuses a prompt that is too long.
fn short(bytes: Vec<u8>, source: &str) -> Result<Vec<u8>, Failure> {
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::usage(format!("{source} is too long for a prompt"))
            .advise("nothing was sent; a prompt may have at most 1 MiB"));
    }
    Ok(bytes)
}

/// Refuses an image that is too large to be held in memory.
fn small(bytes: Vec<u8>, source: &str) -> Result<Vec<u8>, Failure> {
    if bytes.len() as u64 > LARGEST {
        let limit = LARGEST / (1024 * 1024);
        return Err(Failure::usage(format!("the image from {source} is larger than {limit} MiB"))
            .advise(
                "nothing was sent; save it to a file, and pass its path: only an image from a pipe \
                 or a device has this limit",
            ));
    }
    Ok(bytes)
}

/// Returns the image at a path. A regular file is read when the request is sent. A pipe, such as a
/// shell's `<(...)`, is read here, because its size is not known.
fn image_in(path: &Path) -> Result<ImageInput, Failure> {
    let mut shown = path.display().to_string();
    if shown.chars().count() > MAX_SHOWN {
        shown = text::one_line(&shown, MAX_SHOWN);
    }
    let unreadable = |error| {
        Failure::file(format!("could not read the image {shown}"), error).advise(
            "nothing was sent; pass the path of an image file, a picture of the history such as \
             @3, an http(s) or data: URL, or `-` for standard input",
        )
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_file() || metadata.is_dir() {
        // Report now if the file cannot be read. Reading a directory fails, too.
        head(path, 0).map_err(unreadable)?;
        return Ok(ImageInput::path(path));
    }
    small(head(path, LARGEST).map_err(unreadable)?, &shown).map(ImageInput::bytes)
}

/// Reads a file, at most one byte more than `limit`.
fn head(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, limit)
}

/// Whether the text is the path of an image file.
pub fn is_image_file(text: &str) -> bool {
    let path = Path::new(text);
    // Do not open a pipe, because that would block.
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && head(path, 64).is_ok_and(|head| FileKind::of(&head).is_some())
}

/// Whether a text can only be meant as an image: it is an image file, a URL, or has the ending of
/// an image.
fn looks_like_an_image(text: &str) -> bool {
    const ENDINGS: [&str; 8] =
        [".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif", ".heic", ".heif"];
    let is_one_word = !text.contains(char::is_whitespace);
    let lower = text.to_ascii_lowercase();
    is_image_file(text)
        || is_data_url(text) && ImageInput::try_url(text).is_ok()
        || is_one_word && (is_url(text) || ENDINGS.iter().any(|end| lower.ends_with(end)))
}
