//! The argument for the prompt: its text, `-` for standard input, or `@FILE`.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use clap::{Arg, ArgMatches};

use super::{
    completers,
    image::{Images, looks_like_an_image},
};
use crate::{failure::Failure, text::sanitize::one_line};

/// The field, and the id of the argument.
pub use crate::models::PROMPT;

/// The maximum length of a prompt in a file, in bytes.
const LONGEST: u64 = 1024 * 1024;

pub fn arg(help: &str) -> Arg {
    Arg::new(PROMPT)
        .value_name("PROMPT")
        .required(true)
        .add(completers::prompt())
        .help(format!("{help}: text, `-` for standard input, or `@FILE`; `@@` is a literal `@`"))
}

/// The argument of a command that takes several prompts.
pub fn several(help: &str) -> Arg {
    arg(help).num_args(1..)
}

/// Reads the prompts of a command. `with_images` is the command that takes a prompt and images.
pub fn read_all(
    matches: &ArgMatches,
    images: &mut Images<'_>,
    with_images: &str,
) -> Result<Vec<String>, Failure> {
    let given: Vec<&str> =
        matches.get_many::<String>(PROMPT).into_iter().flatten().map(String::as_str).collect();
    // Nobody wants to pay for each word of a prompt without quotes.
    let is_word = |given: &&&str| {
        !given.contains(char::is_whitespace)
            && !given.starts_with(['-', '@'])
            && !looks_like_an_image(given)
    };
    if let Some(word) = given.iter().find(is_word).filter(|_| given.len() > 1) {
        let problem =
            format!("{} prompts are given, and `{}` is a single word", given.len(), one_line(word));
        return Err(Failure::usage(problem).advise(format!(
            "nothing was sent; a prompt of several words needs quotes: \"{}\"; prompts of a \
             single word can be in files, passed as @FILE, or in `kiln batch run`",
            one_line(&given.join(" "))
        )));
    }
    given.into_iter().map(|given| read_one(given, images, with_images)).collect()
}

/// Reads the prompt of a command. Newlines at the end of an input or a file are not part of it.
/// `with_images` is the command that takes a prompt and images.
pub fn read(
    matches: &ArgMatches,
    images: &mut Images<'_>,
    with_images: &str,
) -> Result<String, Failure> {
    let given = matches.get_one::<String>(PROMPT).map(String::as_str).unwrap_or_default();
    read_one(given, images, with_images)
}

/// Reads a prompt that is not a positional argument, like [`read`].
pub fn read_one(
    given: &str,
    images: &mut Images<'_>,
    with_images: &str,
) -> Result<String, Failure> {
    let bytes = match (given, given.strip_prefix('@')) {
        ("-", _) => images.prompt()?,
        (_, Some(rest)) if rest.starts_with('@') => return Ok(rest.to_owned()),
        (_, Some("")) => {
            return Err(Failure::usage("`@` is not followed by the path of a file")
                .advise("nothing was sent; write @FILE, or @@ for a literal `@`"));
        }
        (_, Some(path)) => from_file(Path::new(path))?,
        _ if looks_like_an_image(given) => return Err(is_an_image(given, with_images)),
        _ if is_text_file(given) => {
            return Err(Failure::usage(format!("the prompt `{given}` is the name of a file"))
                .advise(format!("nothing was sent; to read the prompt from it, pass @{given}")));
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

/// The failure for swapped arguments.
fn is_an_image(given: &str, command: &str) -> Failure {
    let given = one_line(given);
    Failure::usage(format!("the prompt `{given}` is the name of an image")).advise(format!(
        "nothing was sent; the prompt comes before the images: `kiln {command} PROMPT {given}`"
    ))
}

/// Whether this is a file whose name is not likely to be a prompt.
fn is_text_file(given: &str) -> bool {
    given.contains(['.', '/']) && Path::new(given).is_file()
}

fn from_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)).map_err(
        |error: io::Error| {
            Failure::file(format!("could not read the prompt from {shown}"), error).advise(format!(
                "nothing was sent; check the path, or write @@{shown} for a literal `@`"
            ))
        },
    )?;
    if bytes.len() as u64 > LONGEST {
        Err(Failure::usage(format!("{shown} is too long for a prompt"))
            .advise("nothing was sent; a prompt may have at most 1 MiB"))
    } else {
        Ok(bytes)
    }
}
