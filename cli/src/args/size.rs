//! `-s WIDTHxHEIGHT`: the width and the height in one option.

use clap::{Arg, ArgMatches};

use crate::failure::Failure;
use imagekiln::{Operation, Request};

/// The fields that the option sets.
pub const FIELDS: [&str; 2] = ["width", "height"];

/// The id of the option.
pub const SIZE: &str = "size";

/// `--size`, for commands with the fields of a model.
pub fn arg() -> Arg {
    Arg::new(SIZE)
        .long(SIZE)
        .short('s')
        .value_name("WIDTHxHEIGHT")
        .value_parser(parse)
        .help("The size in pixels, such as 1024x768: sets the fields width and height")
}

/// Reads a width and a height.
pub fn parse(text: &str) -> Result<[u32; 2], String> {
    let sides = text.split_once(['x', 'X', '\u{d7}']);
    let sides = sides.and_then(|(width, height)| {
        Some([width.trim().parse().ok()?, height.trim().parse().ok()?])
    });
    sides.ok_or_else(|| "give a width and a height in pixels, such as 1024x768".to_owned())
}

/// Whether a model may have a width and a height.
pub fn applies(model: &Operation) -> bool {
    !model.all_fields_shown || FIELDS.iter().all(|name| model.field(name).is_some())
}

/// Sets the fields, if the option is given.
pub fn set(request: Request, matches: &ArgMatches) -> Result<Request, Failure> {
    let Some(sides) = matches.try_get_one::<[u32; 2]>(SIZE).ok().flatten() else {
        return Ok(request);
    };
    let model = request.operation();
    if !applies(model) {
        let advice = match model.field("aspect_ratio") {
            Some(_) => "nothing was sent; use --aspect-ratio, for example --aspect-ratio 4:3",
            None => "nothing was sent; leave --size out",
        };
        let problem = format!("{model} has no fields for the width and the height");
        return Err(Failure::usage(problem).advise(advice));
    }
    Ok(with_sides(request, *sides))
}

/// Sets the two fields.
pub fn with_sides(request: Request, sides: [u32; 2]) -> Request {
    let fields = FIELDS.into_iter().zip(sides);
    fields.fold(request, |request, (name, side)| request.field(name, side))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_size_has_two_sides() {
        for text in ["1024x768", "1024X768", "1024 x 768"] {
            assert_eq!(parse(text), Ok([1024, 768]), "{text}");
        }
        for text in ["1024", "1024x", "x768", "1024*768", "-1x5", "1.5x2", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
