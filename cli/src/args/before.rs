//! What must be known or rewritten before the command line can be parsed.

use std::ffi::{OsStr, OsString};

use super::model;
use imagekiln::FieldKind;

/// The arguments before `--`; everything after it is positional.
fn flags(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    &arguments[..end]
}

/// The value of `--model`, which decides the flags of `generate` and `edit`.
pub fn model(arguments: &[OsString]) -> Option<&str> {
    let flags = flags(arguments);
    flags.iter().enumerate().find_map(|(at, argument)| match argument.to_str()? {
        "--model" => flags.get(at + 1)?.to_str(),
        text => text.strip_prefix("--model="),
    })
}

/// Whether `--json` is set. Parse errors are printed as JSON too.
pub fn json(arguments: &[OsString]) -> bool {
    flags(arguments).iter().any(|argument| argument == "--json")
}

/// Rewrites `--raw false` as `--raw=false` and leaves `--raw "a fox"` alone: a boolean flag
/// consumes the next argument only if it is `true` or `false`.
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
    fn the_model_is_read_from_its_flag() {
        assert_eq!(model(&words("kiln generate x --model gen-dev --seed 1")), Some("gen-dev"));
        assert_eq!(model(&words("kiln --json generate --model=gen-dev x")), Some("gen-dev"));
        assert_eq!(model(&words("kiln generate -- --model gen-dev")), None);
        assert_eq!(model(&words("kiln generate x --model")), None);
    }

    #[test]
    fn a_boolean_consumes_only_true_or_false() {
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
