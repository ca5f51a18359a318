//! `-s WIDTHxHEIGHT`: the width and the height in one option.

use clap::{Arg, ArgMatches};

use crate::{failure::Failure, text::parse};
use imagekiln::{Operation, Request};

/// The fields that the option sets.
const FIELDS: [&str; 2] = ["width", "height"];

/// The id of the option.
pub const SIZE: &str = "size";

/// `--size`, for commands with the fields of a model.
pub fn arg() -> Arg {
    Arg::new(SIZE)
        .long(SIZE)
        .short('s')
        .value_name("WIDTHxHEIGHT")
        .value_parser(parse::size)
        .help("The size in pixels, such as 1024x768: sets the fields width and height")
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

/// Sets the default size, if the model has one and the request does not set it.
pub fn or_default(request: Request, default: Option<[u32; 2]>) -> Request {
    let model = request.operation();
    let decides = ["width", "height", "aspect_ratio"];
    let applies = FIELDS.iter().all(|name| model.field(name).is_some())
        && !decides.iter().any(|name| request.has_field(name));
    match default.filter(|_| applies) {
        Some(sides) => with_sides(request, sides),
        None => request,
    }
}

/// Sets the two fields.
fn with_sides(request: Request, sides: [u32; 2]) -> Request {
    let fields = FIELDS.into_iter().zip(sides);
    fields.fold(request, |request, (name, side)| request.field(name, side))
}
