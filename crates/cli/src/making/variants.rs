//! What differs between the pictures of a command: prompts, images, and with `--vary` the values of
//! fields, the way people compare settings.

use std::slice::from_ref;

use clap::ArgMatches;
use serde_json::Value;

use crate::{
    args::{
        inputs::Inputs,
        model::{Setting, VARY},
        options::{MOST, SIDES, may_have},
        request::{text_of, with_sides},
    },
    failure::Failure,
    models::{PROMPT, SEED},
    text::{one_line, parse},
};
use imagekiln::{FieldKind, ImageInput, Operation, Request, text::hint};

/// The pictures that a command asks for.
pub struct Pictures {
    pub request: Request,
    /// What the pictures differ in. If there are no variants, the request is complete.
    pub variants: Vec<Variant>,
    /// The number of the submission whose picture is made again.
    pub again_of: Option<u64>,
}

impl From<Request> for Pictures {
    fn from(request: Request) -> Self {
        Self { request, variants: Vec::new(), again_of: None }
    }
}

/// What sets a picture apart from the others of its command, besides its seed and `--vary`.
pub enum Variant {
    Prompt(String),
    /// An image in a field, and a name for its picture.
    Image {
        field: &'static str,
        image: ImageInput,
        name: String,
    },
}

/// A value of `--vary`, as it was typed.
#[derive(Clone)]
pub struct Varied {
    field: String,
    text: String,
    value: Set,
}

#[derive(Clone)]
enum Set {
    Value(Value),
    Image(ImageInput),
    Sides([u32; 2]),
}

/// A request without its seed.
pub struct Base {
    pub request: Request,
    /// A name for the picture, such as `cat-guidance-3`.
    pub name: Option<String>,
    /// What was varied, such as `guidance 3`.
    pub label: Option<String>,
}

/// Returns the requests of a command: for each variant, one with each combination of values.
pub fn bases<'a>(
    request: Request,
    variants: &'a [Variant],
    combinations: &'a [Vec<Varied>],
) -> impl Iterator<Item = Base> + use<'a> {
    let none = variants.is_empty().then_some(None);
    let variants = none.into_iter().chain(variants.iter().map(Some));
    variants.flat_map(move |variant| {
        let (request, name) = match variant {
            None => (request.clone(), None),
            Some(Variant::Prompt(prompt)) => (request.clone().field(PROMPT, prompt.as_str()), None),
            Some(Variant::Image { field, image, name }) => {
                (request.clone().image(*field, image.clone()), Some(name))
            }
        };
        combinations.iter().map(move |varied| {
            let request =
                varied.iter().fold(request.clone(), |request, varied| varied.set(request));
            let texts =
                |between: &str| varied.iter().map(|it| it.shown(between)).collect::<Vec<_>>();
            let names: Vec<String> = name.into_iter().cloned().chain(texts("-")).collect();
            let label = (!varied.is_empty()).then(|| texts(" ").join(", "));
            let name = (!names.is_empty()).then(|| names.join("-"));
            Base { request, name, label }
        })
    })
}

impl Varied {
    fn set(&self, request: Request) -> Request {
        match &self.value {
            Set::Value(value) => request.field(&self.field, value.clone()),
            Set::Image(image) => request.image(&self.field, image.clone()),
            Set::Sides(sides) => with_sides(request, *sides),
        }
    }

    fn shown(&self, between: &str) -> String {
        format!("{}{between}{}", self.field, self.text)
    }
}

/// The name by which `--vary` sets width and height, as `--size` does. It is not a field.
const SIZE: &str = "size";

/// Returns the combinations of the values that `--vary` names. Each is made with `seeds` seeds.
/// Without `--vary`, returns one empty combination.
pub fn combinations(
    model: &'static Operation,
    seeds: usize,
    matches: &ArgMatches,
    inputs: &mut Inputs<'_>,
) -> Result<Vec<Vec<Varied>>, Failure> {
    // `kiln task submit` has no `--vary`, because it submits one request.
    let given = matches.try_get_many::<Setting>(VARY).ok().flatten();
    let mut combinations = vec![Vec::new()];
    let mut fields = Vec::new();
    for (name, text) in given.into_iter().flatten() {
        let field = name.replace('-', "_");
        if fields.contains(&field) {
            return Err(refused(name, "it is given twice"));
        }
        if field == SEED && seeds > 1 {
            return Err(refused(name, "--seed or -n also asks for several seeds"));
        }
        let varied = values(model, &field, text_of(name, text)?, inputs)?;
        let with_each = |combination: Vec<Varied>| {
            let with = move |varied: &Varied| [&combination[..], from_ref(varied)].concat();
            varied.iter().map(with).collect::<Vec<_>>()
        };
        let count = combinations.len().saturating_mul(varied.len());
        if count > MOST {
            return Err(refused(name, &format!("{count} pictures are more than {MOST}")));
        }
        combinations = combinations.into_iter().flat_map(with_each).collect();
        fields.push(field);
    }
    Ok(combinations)
}

fn refused(field: &str, problem: &str) -> Failure {
    Failure::usage(format!("--vary {}: {problem}", one_line(field))).advise("nothing was sent")
}

/// Reads the values of a field: texts between commas, and for integers inclusive ranges, too.
fn values(
    model: &'static Operation,
    field: &str,
    text: &str,
    inputs: &mut Inputs<'_>,
) -> Result<Vec<Varied>, Failure> {
    let is_size = field == SIZE && may_have(model, &SIDES);
    let known = model.field(field);
    if known.is_none() && model.all_fields_shown && !is_size {
        let names = model.fields.iter().map(|field| field.name);
        let problem = format!("{model} has no such field{}", hint(field, names));
        return Err(refused(field, &problem));
    }
    let is_number = known.is_some_and(|known| known.kind == FieldKind::Integer);
    let texts: Vec<String> = if is_number && text.contains("..") {
        let numbers = parse::seeds(text).map_err(|problem| refused(field, &problem))?;
        numbers.iter().map(i64::to_string).collect()
    } else {
        text.split(',').map(|text| text.trim().to_owned()).collect()
    };
    if texts.iter().any(String::is_empty) {
        return Err(refused(field, "a value is empty; write values between commas"));
    }
    let varied = texts.into_iter().map(|text| {
        let value = match known.map(|known| &known.kind) {
            _ if is_size => Set::Sides(parse::size(&text).map_err(|why| refused(field, &why))?),
            Some(FieldKind::Image { .. }) => Set::Image(inputs.image(text.as_ref())?),
            Some(kind) => Set::Value(kind.value_of(&text)),
            None => Set::Value(FieldKind::Json.value_of(&text)),
        };
        Ok(Varied { field: field.to_owned(), text, value })
    });
    varied.collect()
}
