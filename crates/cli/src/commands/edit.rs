//! `kiln edit PROMPT IMAGE...`: makes a picture from a prompt and images. `kiln edit IMAGE...
//! --prompt PROMPT`: makes a picture from each image.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::{Arg, ArgMatches, Command, value_parser};

use super::generate::{any_model, of_model, takes_prompt};
use crate::{
    args::{
        completers,
        inputs::{Inputs, prompt_arg},
        model, options,
        preset::{self, PresetOptions},
        request,
    },
    context::Context,
    failure::Failure,
    making::{self, Pictures, Variant},
    models::{self, PROMPT},
};
use imagekiln::{
    Operation,
    text::{counted, is_data_url, is_url},
};

pub const NAME: &str = "edit";

const EXAMPLES: &str = "\
Examples:
  kiln edit \"give the cat this hat\" cat.png hat.png -o cat-with-hat.png
  kiln edit *.jpg --prompt \"at night\" -o night/ --mkdir";

const IMAGES: &str = "images";
const EACH: &str = "prompt for each image";

const USAGE: &str = "\
kiln edit [OPTIONS] <PROMPT> <IMAGE>...
       kiln edit [OPTIONS] --prompt <PROMPT> <IMAGE>...";

pub fn command(chosen: &'static Operation) -> Command {
    let command = Command::new(NAME)
        .about("Edit images with a prompt: submit, wait, save")
        .override_usage(USAGE)
        .arg(prompt_arg("What to change"))
        .arg(
            Arg::new(EACH)
                .long(PROMPT)
                .value_name("PROMPT")
                .help(
                    "What to change in each image: each makes a picture of its own, named after it",
                )
                .add(completers::prompt()),
        )
        .arg(
            Arg::new(IMAGES)
                .value_name("IMAGE")
                .required_unless_present(EACH)
                .num_args(1..)
                .value_parser(value_parser!(OsString))
                .add(completers::image())
                .help(
                    "Images, for the model's image fields in their order: a path, @ and a number \
                     of `kiln history`, an http(s) or data: URL, or `-`",
                ),
        );
    let command = command.args(options::of::<PresetOptions>());
    of_model(command, chosen, any_model(chosen), &[PROMPT], (EXAMPLES, ""))
}

pub async fn execute(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let model = model::chosen(matches)?;
    let mut inputs = Inputs::of(&context.output, &context.settings);
    let first = matches.get_one::<String>(PROMPT);
    let mut given: Vec<OsString> =
        matches.get_many(IMAGES).into_iter().flatten().cloned().collect();
    let each = matches.get_one::<String>(EACH);
    if each.is_some() {
        given.splice(..0, first.map(OsString::from));
    }
    let fields = fields_for(model, if each.is_some() { 1 } else { given.len() })?;
    let prompt = each.or(first).map(String::as_str).unwrap_or_default();
    let prompt = inputs.prompt(prompt, NAME)?;
    let prompt = preset::prompts(&context.settings, matches, vec![prompt])?.swap_remove(0);
    let request = request::with_defaults(model, matches, &mut inputs)?;
    takes_prompt(model)?;
    let mut request = request.field(PROMPT, prompt);
    let mut variants = Vec::new();
    match (each, fields.first()) {
        (Some(_), Some(field)) => {
            for given in &given {
                let image = inputs.image(given)?;
                variants.push(Variant::Image { field, image, name: name_of(given) });
            }
        }
        _ => {
            for (field, given) in fields.into_iter().zip(&given) {
                request = request.image(field, inputs.image(given)?);
            }
        }
    }
    making::make(context, Pictures { variants, ..request.into() }, matches).await
}

/// Returns the name of an image without its extension. Leaves out the query of a URL, which may
/// contain a secret.
fn name_of(given: &OsStr) -> String {
    let text = given.to_string_lossy();
    if is_data_url(&*text) {
        return "image".to_owned();
    }
    let path = if is_url(&text) { text.split(['?', '#']).next() } else { Some(&*text) };
    let name = path.and_then(|path| Path::new(path).file_stem()).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the image fields of a model, without its masks, which have flags of their own. Fails if
/// the model has fewer fields than `count` images need.
fn fields_for(model: &'static Operation, count: usize) -> Result<Vec<&'static str>, Failure> {
    let fields = models::image_fields(model);
    let (problem, advice) = match fields.len() {
        0 => (
            format!("the contract lists no image field for {model}"),
            format!("use `kiln run {} --extra-image NAME=IMAGE`", model.name),
        ),
        most if count > most => (
            format!("{model} accepts at most {}, but {count} were given", counted(most, "image")),
            "pass fewer images, or choose another --model (see `kiln models`)".to_owned(),
        ),
        _ => return Ok(fields),
    };
    Err(Failure::usage(problem).advise(format!("nothing was sent; {advice}")))
}
