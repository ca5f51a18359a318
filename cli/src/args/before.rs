//! What has to be known, or put straight, before the command line can be parsed.

use std::ffi::{OsStr, OsString};

use imagekiln::FieldKind;

use super::model;

/// The arguments in front of `--`, behind which nothing is a flag.
fn flags(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    &arguments[..end]
}

/// What `--model` says: the flags of `generate` and `edit` depend on it.
pub fn model(arguments: &[OsString]) -> Option<&str> {
    let flags = flags(arguments);
    flags.iter().enumerate().find_map(|(at, argument)| match argument.to_str()? {
        "--model" => flags.get(at + 1)?.to_str(),
        text => text.strip_prefix("--model="),
    })
}

/// Whether results and errors are for programs; a command line that can't be parsed has to say it
/// that way too.
pub fn json(arguments: &[OsString]) -> bool {
    flags(arguments).iter().any(|argument| argument == "--json")
}

/// Writes `--raw false` as `--raw=false`, and leaves `--raw "a fox"` alone: a flag that needs no
/// value takes only one that is plainly meant for it.
pub fn join_booleans(arguments: Vec<OsString>) -> Vec<OsString> {
    let end = flags(&arguments).len();
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    for (at, argument) in arguments.into_iter().enumerate() {
        match joined.last_mut() {
            Some(last)
                if at < end && (argument == "true" || argument == "false") && is_boolean(last) =>
            {
                last.push("=");
                last.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

fn is_boolean(flag: &OsStr) -> bool {
    let Some(name) = flag.to_str().and_then(|flag| flag.strip_prefix("--")) else { return false };
    let name = name.strip_prefix("field-").unwrap_or(name).replace('-', "_");
    model::models()
        .flat_map(|model| model.fields)
        .any(|field| field.kind == FieldKind::Boolean && field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_model_is_found_where_it_is_a_flag() {
        assert_eq!(model(&words("kiln generate x --model gen-dev --seed 1")), Some("gen-dev"));
        assert_eq!(model(&words("kiln --json generate --model=gen-dev x")), Some("gen-dev"));
        assert_eq!(model(&words("kiln generate -- --model gen-dev")), None);
        assert_eq!(model(&words("kiln generate x --model")), None);
    }

    #[test]
    fn a_boolean_takes_the_word_that_is_meant_for_it() {
        let joined = |text: &str| join_booleans(words(text));
        assert_eq!(joined("kiln generate --raw false fox"), words("kiln generate --raw=false fox"));
        assert_eq!(joined("kiln generate --raw fox"), words("kiln generate --raw fox"));
        assert_eq!(
            joined("kiln run m --prompt_upsampling true"),
            words("kiln run m --prompt_upsampling=true")
        );
        assert_eq!(joined("kiln run m --prompt true"), words("kiln run m --prompt true"));
        assert_eq!(joined("kiln run m -- --raw true"), words("kiln run m -- --raw true"));
    }
}
